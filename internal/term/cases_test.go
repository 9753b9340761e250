package term_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
)

// The tests here are faults that people reported against programs of this kind.

func TestSelectorsStayAlignedInHistory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(20, 5, term.Options{Engine: en})
		for i := range 200 {
			fmt.Fprintf(writer{e}, "⚠\ufe0f %3d|\r\n", i)
		}
		for _, offset := range []int{0, 7, 196} {
			g := e.Frame(offset)
			for y := range g.H - 1 {
				if c := g.At(6, y); c.Text != "|" {
					t.Errorf("offset %d, row %d: column 6 is %q\n%s", offset, y, c.Text, g)
				}
			}
		}
	})
}

func TestFullScreenProgramRestoresTheLine(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(20, 3, term.Options{Engine: en})
		e.Write([]byte("🚀 text 👩\u200d🚀  \r\n$ "))
		before := e.Frame(0)
		e.Write([]byte("\x1b[?1049h\x1b[22;0;0t\x1b[1;3r\x1b[H\x1b[2J" + strings.Repeat("full\r\n", 5) + "\x1b[r\x1b[?1049l"))
		after := e.Frame(0)
		for i := range before.Cells {
			if before.Cells[i] != after.Cells[i] {
				t.Fatalf("cell %d: %+v, want %+v", i, after.Cells[i], before.Cells[i])
			}
		}
		if before.Cursor != after.Cursor {
			t.Errorf("cursor %+v, want %+v", after.Cursor, before.Cursor)
		}
	})
}

func TestRandomBytesStayInTheirPane(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	right := term.New(20, 8, term.Options{})
	right.Write(noise)
	g := frame.NewGrid(41, 8)
	for y := range g.H {
		g.Text(0, y, 20, "left left left left ", frame.Style{})
	}
	pane := right.Frame(0)
	g.Draw(21, 0, pane, frame.Rect{W: pane.W, H: pane.H})
	outer := term.New(41, 8, term.Options{})
	w := frame.NewWriter(writer{outer}, frame.Profile{})
	if err := w.Draw(g); err != nil {
		t.Fatal(err)
	}
	shown := outer.Frame(0)
	for y := range g.H {
		var line strings.Builder
		for x := range 20 {
			line.WriteString(shown.At(x, y).Text)
		}
		if line.String() != "left left left left " {
			t.Errorf("row %d of the other pane: %q", y, line.String())
		}
	}
}

func TestInsertAfterWideGlyph(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(12, 1, term.Options{Engine: en})
		e.Write([]byte("日本abc\x1b[3D\x1b[1@x\x1b[1@y"))
		if got, want := screen(e), rows("日本xyabc   "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWideGlyphsScrollWithTheirBackground(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(8, 2, term.Options{Engine: en})
		e.Write([]byte("\x1b[45m日本語\x1b[K\r\n\n\n"))
		g := e.Frame(2)
		for x := range g.W {
			if bg := g.At(x, 0).Style.BG; bg != frame.Indexed(5) {
				t.Errorf("cell %d in the history has background %v", x, bg)
			}
		}
	})
}

func TestShrinkWithTheCursorAtTheBottom(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(10, 24, term.Options{Engine: en})
		for i := range 30 {
			fmt.Fprintf(writer{e}, "line %d\r\n", i)
		}
		e.Write([]byte("$ \x1b7"))
		for rows := 24; rows > 0; rows-- {
			e.Resize(max(1, rows/2), rows)
			e.Write([]byte("\x1b8\x1b7"))
			checkCaps(t, e)
		}
		for rows := 1; rows <= 24; rows++ {
			e.Resize(10, rows)
		}
		if got := e.Frame(0).String(); !strings.Contains(got, "line 29") || strings.Count(got, "line 29") != 1 {
			t.Errorf("after shrinking and growing:\n%s", got)
		}
	})
}

func TestResizeOfLongHistoryIsQuick(t *testing.T) {
	t.Parallel()
	e := term.New(200, 50, term.Options{})
	line := bytes.Repeat([]byte("0123456789"), 100)
	for range 2500 {
		e.Write(line)
		e.Write([]byte("\r\n"))
	}
	start := time.Now()
	for i := range 20 {
		e.Resize(60+i, 20+i)
	}
	// 100 ms each is what is asked; a loaded machine gets ten times that.
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("20 resizes took %v", d)
	}
}

func TestEngineNamesSelectEngines(t *testing.T) {
	t.Parallel()
	for _, name := range []term.Engine{"", term.VT10x, term.Native, "unknown"} {
		e := term.New(4, 1, term.Options{Engine: name})
		e.Write([]byte("ok"))
		if got := screen(e); got != rows("ok  ") {
			t.Errorf("%q shows %q", name, got)
		}
	}
}

// BenchmarkPaneMemory reports what a pane costs, empty and with a full history.
func BenchmarkPaneMemory(b *testing.B) {
	data := benchStreams()["color"]
	for _, en := range engines {
		for _, lines := range []int{0, 10000} {
			b.Run(fmt.Sprintf("%s/%d", en, lines), func(b *testing.B) {
				const panes = 4
				var kept [panes]term.Emulator
				for b.Loop() {
					before := heap()
					for i := range kept {
						kept[i] = term.New(200, 60, term.Options{Engine: en})
						for n := 0; n < lines; n += 3000 {
							kept[i].Write(data)
						}
					}
					b.ReportMetric(float64(heap()-before)/panes/1e6, "MB/pane")
					clear(kept[:])
				}
				goruntime.KeepAlive(kept)
			})
		}
	}
}

func heap() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}
