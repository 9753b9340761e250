package term_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/term"
)

// TestHostile feeds the forms that broke other emulators. Each must be harmless: the
// screen still works afterwards, and nothing unasked is answered.
func TestHostile(t *testing.T) {
	t.Parallel()
	big := "99999999999999999999"
	tests := map[string]string{
		"negative insert":         "\x1b[-3@",
		"negative delete":         "\x1b[-3P",
		"huge tab count":          "\x1b[2147483647I",
		"huge back tab count":     "\x1b[" + big + "Z",
		"huge erase":              "\x1b[" + big + "X",
		"huge repeat":             "a\x1b[" + big + "b",
		"huge insert":             "\x1b[" + big + "@\x1b[" + big + "P\x1b[" + big + "L\x1b[" + big + "M",
		"huge scroll":             "\x1b[" + big + "S\x1b[" + big + "T",
		"huge moves":              "\x1b[" + big + "A\x1b[" + big + "B\x1b[" + big + "C\x1b[" + big + "D\x1b[" + big + ";" + big + "H",
		"huge margins":            "\x1b[" + big + ";" + big + "r",
		"upside-down margins":     "\x1b[3;1r\x1b[0;0r",
		"kitty reports":           "\x1b[97;5:3;97u\x1b[57441u\x1b[?u",
		"key modifier resources":  "\x1b[>4;2m\x1b[>1;2;3m\x1b[>m",
		"many parameters":         "\x1b[" + strings.Repeat("1;", 100000) + "m",
		"many colons":             "\x1b[38" + strings.Repeat(":2", 100000) + "m",
		"many intermediates":      "\x1b[" + strings.Repeat("!", 100000) + "p\x1b" + strings.Repeat("(", 100000) + "0",
		"palette growth":          "\x1b]4" + strings.Repeat(";77;#123456", 100000) + "\x07",
		"palette index":           "\x1b]4;99999999;?;-1;?;256;?\x07",
		"many palette queries":    "\x1b]4" + strings.Repeat(";1;?", 40000) + "\x07",
		"endless title":           "\x1b]0;" + strings.Repeat("A", 10<<20) + "\x07",
		"endless device string":   "\x1bP+q" + strings.Repeat("41", 5<<20) + "\x1b\\",
		"kitty stack":             strings.Repeat("\x1b[>31u", 100000),
		"marks without end":       "a" + strings.Repeat("\u0301", 100000),
		"joiners without end":     strings.Repeat("👨\u200d", 100000),
		"new clusters all along":  clusterFlood(100000),
		"new styles all along":    styleFlood(100000),
		"queries without reading": strings.Repeat("\x1b[c\x1b[6n\x1b[>q", 100000),
		"bells and notices":       strings.Repeat("\a\x1b]9;x\x07\x1b]777;notify;a;b\x07", 100000),
		"clipboard flood":         strings.Repeat("\x1b]52;c;"+strings.Repeat("QUJD", 40000)+"\x07", 50),
		"screen switching":        strings.Repeat("\x1b[?1049h\x1b[?1049l\x1b[?47h\x1b[?47l", 20000),
		"frames held for good":    strings.Repeat("\x1b[?2026hx", 100000),
		"half a sequence":         "\x1b[38;5",
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, en term.Engine) {
				start := time.Now()
				e := term.New(20, 4, term.Options{Engine: en})
				e.Write([]byte(in))
				if d := time.Since(start); d > 20*time.Second {
					t.Errorf("took %v", d)
				}
				checkCaps(t, e)
				e.Write([]byte("\x18\x1bc\x1b[2;3Hok"))
				if g := e.Frame(0); !e.Modes().Synchronized && g.At(2, 1).Text+g.At(3, 1).Text != "ok" {
					t.Errorf("the screen does not work afterwards:\n%s", g)
				}
			})
		})
	}
}

func clusterFlood(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%c%c%c", 'a'+i%26, 0x300+i/26%64, 0x300+i/26/64%64)
	}
	return b.String()
}

func styleFlood(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dmx", i%256, i/256%256, i/65536)
	}
	return b.String()
}

// checkCaps checks everything that must hold of an emulator whatever it was fed.
func checkCaps(t *testing.T, e term.Emulator) {
	t.Helper()
	if n := len(e.TakeReplies()); n > 8<<10 {
		t.Errorf("%d bytes of replies", n)
	}
	events := e.TakeEvents()
	size := 0
	for _, ev := range events {
		size += len(ev.Text)
		if ev.Kind != term.EventClipboard && term.Sanitize(ev.Text) != ev.Text {
			t.Errorf("event %q is not sanitised", ev.Text)
		}
	}
	if len(events) > 32 || size > 256<<10 {
		t.Errorf("%d events of %d bytes", len(events), size)
	}
	if s := e.Title(); len(s) > 4096 || term.Sanitize(s) != s {
		t.Errorf("title %.60q…", s)
	}
	if n := e.ScrollbackLen(); n > term.DefaultScrollback {
		t.Errorf("%d lines of history", n)
	}
	for _, offset := range []int{0, 1, 1 << 30} {
		g := e.Frame(offset)
		for i, c := range g.Cells {
			if len(c.Text) > 64 || !utf8.ValidString(c.Text) {
				t.Fatalf("cell %d holds %q", i, c.Text)
			}
			for _, r := range c.Text {
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("cell %d holds %q", i, c.Text)
				}
			}
			if c.Width == 0 && (i%g.W == 0 || g.Cells[i-1].Width != 2) {
				t.Fatalf("cell %d is half a glyph", i)
			}
			if c.Width == 2 && (i%g.W == g.W-1 || g.Cells[i+1].Width != 0) {
				t.Fatalf("cell %d is half a glyph", i)
			}
		}
		if c := g.Cursor; c.X < 0 || c.Y < 0 || c.X >= g.W || c.Y >= g.H {
			if offset == 0 {
				t.Fatalf("cursor at %d, %d", c.X, c.Y)
			}
		}
	}
}

// FuzzEmulator feeds the same bytes to both engines, cut differently, with a resize
// in between, and compares all they show.
func FuzzEmulator(f *testing.F) {
	files, err := filepath.Glob("testdata/*.in")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings to start from: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 4096)], uint8(20), uint8(5))
	}
	f.Add([]byte("日本\x1b[1Ga\x1b[4h⚠\ufe0f\x1b[2;3r\n\n\n\x1b[?1049h"), uint8(6), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, cols, rows uint8) {
		compareEngines(t, in, int(cols%90)+1, int(rows%30)+1)
	})
}

func compareEngines(t *testing.T, in []byte, cols, rows int) {
	t.Helper()
	now := time.Unix(0, 0)
	opt := term.Options{Scrollback: 50, Clock: func() time.Time { return now }}
	opt.Engine = term.VT10x
	a := term.New(cols, rows, opt)
	opt.Engine = term.Native
	b := term.New(cols, rows, opt)
	half := len(in) / 2
	a.Write(in[:half])
	for i := range half {
		b.Write(in[i : i+1])
	}
	a.Resize(cols/2+1, rows+2)
	b.Resize(cols/2+1, rows+2)
	a.Write(in[half:])
	b.Write(in[half:])
	a.Resize(cols+3, rows/2+1)
	b.Resize(cols+3, rows/2+1)
	now = now.Add(time.Hour)
	checkCaps(t, b)
	if x, y := a.Frame(0), b.Frame(0); x.String() != y.String() || x.Cursor != y.Cursor {
		t.Fatalf("engines differ:\n%s%+v\n%s%+v", x, x.Cursor, y, y.Cursor)
	} else {
		for i := range x.Cells {
			if x.Cells[i] != y.Cells[i] {
				t.Fatalf("cell %d,%d differs: %+v, %+v", i%x.W, i/x.W, x.Cells[i], y.Cells[i])
			}
		}
	}
	if x, y := a.Frame(20), b.Frame(20); x.String() != y.String() {
		t.Fatalf("histories differ:\n%s\n%s", x, y)
	}
	if a.Modes() != b.Modes() || a.Title() != b.Title() {
		t.Fatal("modes or titles differ")
	}
}

// TestEnginesAgree is the fuzz test on streams made of plausible pieces, which reach
// deeper than random bytes.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	pieces := strings.Split("a|bc|hello world|日|本|e\u0301|⚠\ufe0f|👩\u200d🚀|🇩🇪|\r|\n|\r\n|\t|\b|\x1b[A|\x1b[B|\x1b[C|\x1b[D|"+
		"\x1b[H|\x1b[2;2H|\x1b[9;9H|\x1b[J|\x1b[1J|\x1b[2J|\x1b[K|\x1b[1K|\x1b[2K|\x1b[@|\x1b[3@|\x1b[P|\x1b[3P|\x1b[L|\x1b[M|"+
		"\x1b[2L|\x1b[2M|\x1b[X|\x1b[4X|\x1b[S|\x1b[T|\x1b[2;4r|\x1b[r|\x1b[?6h|\x1b[?6l|\x1b[4h|\x1b[4l|\x1b[?7l|\x1b[?7h|"+
		"\x1b7|\x1b8|\x1bD|\x1bM|\x1bE|\x1b[31m|\x1b[44m|\x1b[7;38;2;1;2;3m|\x1b[m|\x1b[?1049h|\x1b[?1049l|\x1b(0|\x1b(B|qx|"+
		"\x1b[b|\x1b#8|\x1b[?5h|\x1bc|\x1b[3J|\x1b[I|\x1b[Z|\x1bH|\x1b[3g", "|")
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var in bytes.Buffer
		for range 80 {
			in.WriteString(pieces[rng.IntN(len(pieces))])
		}
		compareEngines(t, in.Bytes(), 2+round%12, 1+round%7)
	}
}
