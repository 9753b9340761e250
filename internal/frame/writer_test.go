package frame_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
)

// shown draws on an emulator, which then shows what a terminal would.
type shown struct {
	e      term.Emulator
	writes int
	last   []byte
}

func (s *shown) Write(p []byte) (int, error) {
	s.writes++
	s.last = bytes.Clone(p)
	s.e.Write(p)
	return len(p), nil
}

func newShown(w, h int) *shown {
	return &shown{e: term.New(w, h, term.Options{Engine: term.Native})}
}

func text(g *frame.Grid, y int, s string, st frame.Style) { g.Text(0, y, g.W, s, st) }

func same(t *testing.T, s *shown, g *frame.Grid) {
	t.Helper()
	got := s.e.Frame(0)
	for i := range g.Cells {
		if got.Cells[i] != g.Cells[i] {
			t.Fatalf("cell %d,%d is %+v, want %+v\n%q", i%g.W, i/g.W, got.Cells[i], g.Cells[i], s.last)
		}
	}
	if got.Cursor.Visible != g.Cursor.Visible || g.Cursor.Visible && got.Cursor != g.Cursor {
		t.Fatalf("cursor %+v, want %+v", got.Cursor, g.Cursor)
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	s := newShown(20, 4)
	w := frame.NewWriter(s, frame.Profile{Sync: true})
	g := frame.NewGrid(20, 4)
	g.Cursor = frame.Cursor{X: 3, Y: 1, Visible: true, Shape: 2}
	text(g, 0, "hello 日本 wide", frame.Style{FG: frame.Indexed(1)})
	text(g, 3, "bottom row, all of it", frame.Style{BG: frame.RGB(1, 2, 3), Attr: frame.Bold})
	draw(t, w, g)
	same(t, s, g)

	text(g, 0, "help  日木 wide", frame.Style{FG: frame.Indexed(1)})
	g.Fill(frame.Rect{X: 2, Y: 3, W: 18, H: 1}, frame.Style{})
	draw(t, w, g)
	same(t, s, g)

	g.Cursor = frame.Cursor{}
	draw(t, w, g)
	same(t, s, g)
	if want := "\x1b[?2026h\x1b[?25l\x1b[?2026l"; string(s.last) != want {
		t.Errorf("hiding the cursor wrote %q, want %q", s.last, want)
	}
	if s.writes != 3 {
		t.Errorf("%d writes for 3 frames", s.writes)
	}
}

func draw(t *testing.T, w *frame.Writer, g *frame.Grid) {
	t.Helper()
	if err := w.Draw(g); err != nil {
		t.Fatal(err)
	}
}

func TestDrawEqualWritesNothing(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]frame.Profile{"sync": {Sync: true}, "plain": {}, "no colour": {Color: frame.NoColor}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShown(10, 2)
			w := frame.NewWriter(s, p)
			g := frame.NewGrid(10, 2)
			text(g, 0, "⚠\ufe0f ok", frame.Style{FG: frame.RGB(9, 9, 9)})
			g.Cursor = frame.Cursor{X: 1, Y: 1, Visible: true}
			draw(t, w, g)
			s.writes = 0
			draw(t, w, g)
			if s.writes != 0 {
				t.Errorf("wrote %q for an equal grid", s.last)
			}
			w.Invalidate()
			draw(t, w, g)
			if s.writes != 1 {
				t.Error("nothing written after Invalidate")
			}
		})
	}
}

func TestDrawStaysInBrackets(t *testing.T) {
	t.Parallel()
	s := newShown(10, 2)
	w := frame.NewWriter(s, frame.Profile{Sync: true})
	g := frame.NewGrid(10, 2)
	for _, line := range []string{"one", "two", "three"} {
		text(g, 0, line, frame.Style{})
		draw(t, w, g)
		out := string(s.last)
		if !strings.HasPrefix(out, "\x1b[?2026h") || !strings.HasSuffix(out, "\x1b[?2026l") || strings.Count(out, "2026") != 2 {
			t.Errorf("frame outside its brackets: %q", out)
		}
	}
}

func TestDrawReanchorsAfterWideGlyphs(t *testing.T) {
	t.Parallel()
	s := newShown(10, 1)
	w := frame.NewWriter(s, frame.Profile{})
	g := frame.NewGrid(10, 1)
	draw(t, w, g)
	text(g, 0, "日x", frame.Style{})
	draw(t, w, g)
	if !strings.Contains(string(s.last), "日\x1b[1;3Hx") {
		t.Errorf("no address after a wide glyph: %q", s.last)
	}
}

// TestDrawOnTerminalsThatDisagree draws clusters on terminals that count them
// narrower (no width by selector) or wider (no joining at all) than we do. Nothing
// but the cluster itself may look different.
func TestDrawOnTerminalsThatDisagree(t *testing.T) {
	t.Parallel()
	terminals := map[string]func(p []byte, e term.Emulator){
		"narrow": func(p []byte, e term.Emulator) { e.Write(p) },
		"wide": func(p []byte, e term.Emulator) {
			// A sequence between two characters keeps them from joining.
			for _, r := range string(p) {
				e.Write([]byte(string(r)))
				if r >= 0x80 {
					e.Write([]byte("\x1b[>0q"))
				}
			}
		},
	}
	for name, feed := range terminals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := term.New(20, 2, term.Options{NarrowSelector: name == "narrow"})
			w := frame.NewWriter(writeFunc(func(p []byte) (int, error) { feed(p, e); return len(p), nil }), frame.Profile{})
			e.Write([]byte("\x1b[?7l"))
			g := frame.NewGrid(20, 2)
			text(g, 0, "xxxxxxxxxxxxxxxxxxxx", frame.Style{})
			text(g, 1, "yyyyyyyyyyyyyyyyyyyy", frame.Style{})
			draw(t, w, g)
			text(g, 0, "a⚠\ufe0fbxx🇩🇪cxx", frame.Style{})
			draw(t, w, g)
			got := e.Frame(0)
			for x, want := range map[int]string{0: "a", 3: "b", 4: "x", 8: "c", 9: "x", 10: "x", 19: "x"} {
				if c := got.At(x, 0); c.Text != want {
					t.Errorf("column %d shows %q, want %q\n%s", x, c.Text, want, got)
				}
			}
			if c := got.At(2, 0); c.Text == "x" {
				t.Error("old content beside a cluster")
			}
			if got.At(0, 1).Text != "y" || got.At(19, 1).Text != "y" {
				t.Errorf("the next row is not untouched:\n%s", got)
			}
		})
	}
}

func TestDrawNeverWritesControls(t *testing.T) {
	t.Parallel()
	s := newShown(10, 1)
	w := frame.NewWriter(s, frame.Profile{})
	g := frame.NewGrid(10, 1)
	g.Cells[0].Text, g.Cells[1].Text = "\x1b", "\u009b"
	draw(t, w, g)
	if out := string(s.last); !strings.Contains(out, "??") || strings.Contains(out, "\u009b") {
		t.Errorf("wrote %q", out)
	}
}

func TestDrawError(t *testing.T) {
	t.Parallel()
	broken := errors.New("gone")
	var buf bytes.Buffer
	fail := true
	w := frame.NewWriter(writeFunc(func(p []byte) (int, error) {
		if fail {
			return 0, broken
		}
		return buf.Write(p)
	}), frame.Profile{})
	g := frame.NewGrid(4, 1)
	if err := w.Draw(g); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	fail = false
	if err := w.Draw(g); err != nil || !strings.Contains(buf.String(), "\x1b[2J") {
		t.Errorf("after an error the screen is not drawn anew: %q, %v", buf.String(), err)
	}
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

// TestDrawRandom draws a walk of grids and checks after each what a terminal shows.
func TestDrawRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	words := []string{"a", "word", "日本", "e\u0301", "⚠\ufe0f", "   ", "🇩🇪", "longer text here"}
	for _, sync := range []bool{true, false} {
		s := newShown(24, 6)
		w := frame.NewWriter(s, frame.Profile{Sync: sync})
		g := frame.NewGrid(24, 6)
		for range 400 {
			for range 1 + rng.IntN(4) {
				st := frame.Style{Attr: frame.Attr(rng.IntN(256)) &^ frame.Blink}
				if rng.IntN(2) == 0 {
					st = frame.Style{FG: frame.Indexed(uint8(rng.IntN(256))), BG: frame.RGB(uint8(rng.IntN(3)), 0, 0)}
				}
				if rng.IntN(3) == 0 {
					g.Fill(frame.Rect{X: rng.IntN(24), Y: rng.IntN(6), W: rng.IntN(24), H: 2}, frame.Style{BG: st.BG})
				}
				g.Text(rng.IntN(24), rng.IntN(6), 24, words[rng.IntN(len(words))], st)
			}
			g.Cursor = frame.Cursor{X: rng.IntN(24), Y: rng.IntN(6), Visible: rng.IntN(3) > 0, Shape: frame.CursorShape(rng.IntN(3))}
			draw(t, w, g)
			same(t, s, g)
		}
	}
}

func TestDowngrade(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		in    frame.Color
		level frame.ColorLevel
		want  frame.Color
	}{
		{"kept", frame.RGB(1, 2, 3), frame.TrueColor, frame.RGB(1, 2, 3)},
		{"red in the cube", frame.RGB(255, 0, 0), frame.Color256, frame.Indexed(196)},
		{"grey ramp", frame.RGB(0x80, 0x80, 0x80), frame.Color256, frame.Indexed(244)},
		{"black", frame.RGB(0, 0, 0), frame.Color256, frame.Indexed(16)},
		{"palette kept", frame.Indexed(200), frame.Color256, frame.Indexed(200)},
		{"red of 16", frame.RGB(250, 5, 5), frame.Color16, frame.Indexed(9)},
		{"256 to 16", frame.Indexed(21), frame.Color16, frame.Indexed(4)},
		{"16 kept", frame.Indexed(12), frame.Color16, frame.Indexed(12)},
		{"none", frame.Indexed(1), frame.NoColor, frame.Color{}},
		{"default", frame.Color{}, frame.Color16, frame.Color{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := frame.Downgrade(frame.Style{FG: tt.in, Attr: frame.Bold}, frame.Profile{Color: tt.level})
			if got.FG != tt.want || got.Attr != frame.Bold {
				t.Errorf("got %+v, want %+v", got.FG, tt.want)
			}
		})
	}
}

func busyGrid() *frame.Grid {
	g := frame.NewGrid(200, 60)
	for y := range g.H {
		text(g, y, strings.Repeat("some text 日本 ", 12), frame.Style{FG: frame.Indexed(uint8(y))})
	}
	return g
}

func BenchmarkDrawUnchanged(b *testing.B) {
	w := frame.NewWriter(writeFunc(func(p []byte) (int, error) { return len(p), nil }), frame.Profile{Sync: true})
	g := busyGrid()
	w.Draw(g)
	b.ReportAllocs()
	for b.Loop() {
		w.Draw(g)
	}
}

func BenchmarkDrawChanged(b *testing.B) {
	w := frame.NewWriter(writeFunc(func(p []byte) (int, error) { return len(p), nil }), frame.Profile{Sync: true})
	g, h := busyGrid(), busyGrid()
	for y := range h.H {
		text(h, y, strings.Repeat("tome sext 木日 ", 12), frame.Style{FG: frame.Indexed(uint8(y + 1))})
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Draw(g)
		g, h = h, g
	}
}
