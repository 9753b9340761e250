package term_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
)

var engines = []term.Engine{term.VT10x, term.Native}

// each runs a test with both engines.
func each(t *testing.T, f func(t *testing.T, e term.Engine)) {
	t.Helper()
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			f(t, e)
		})
	}
}

// screen is a frame as text with | at the right edge, so that blanks count.
func screen(e term.Emulator) string {
	g := e.Frame(0)
	var b strings.Builder
	for y := range g.H {
		for x := range g.W {
			c := g.At(x, y)
			if c.Text == "" && c.Width == 1 {
				b.WriteByte(' ')
			}
			b.WriteString(c.Text)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

func rows(lines ...string) string { return strings.Join(lines, "|\n") + "|\n" }

func TestScreen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		cols     int
		want     []string
	}{
		{"plain", "ab\r\ncd", 4, []string{"ab  ", "cd  ", "    "}},
		{"wrap is put off until the next character", "abcd", 4, []string{"abcd", "    ", "    "}},
		{"wrap", "abcde", 4, []string{"abcd", "e   ", "    "}},
		{"no autowrap", "\x1b[?7labcdef", 4, []string{"abcf", "    ", "    "}},
		{"scroll", "a\r\nb\r\nc\r\nd", 4, []string{"b   ", "c   ", "d   "}},
		{"cursor address", "\x1b[2;3HX", 4, []string{"    ", "  X ", "    "}},
		{"address beyond the screen", "\x1b[99;99HX", 4, []string{"    ", "    ", "   X"}},
		{"erase to end", "abcd\x1b[1;2H\x1b[K", 4, []string{"a   ", "    ", "    "}},
		{"erase to start", "abcd\x1b[1;2H\x1b[1K", 4, []string{"  cd", "    ", "    "}},
		{"erase above keeps row 2", "a\r\nb\r\nc\x1b[2;1H\x1b[1J", 4, []string{"    ", "    ", "c   "}},
		{"erase characters", "abcd\x1b[1;2H\x1b[2X", 4, []string{"a  d", "    ", "    "}},
		{"insert characters", "abcd\x1b[1;2H\x1b[2@", 4, []string{"a  b", "    ", "    "}},
		{"delete characters", "abcd\x1b[1;2H\x1b[2P", 4, []string{"ad  ", "    ", "    "}},
		{"insert mode", "abc\x1b[1;1H\x1b[4hX\x1b[4l", 4, []string{"Xabc", "    ", "    "}},
		{"insert line", "a\r\nb\r\nc\x1b[2;1H\x1b[L", 4, []string{"a   ", "    ", "b   "}},
		{"delete line", "a\r\nb\r\nc\x1b[1;1H\x1b[M", 4, []string{"b   ", "c   ", "    "}},
		{"margins", "a\r\nb\r\nc\x1b[1;2r\x1b[2;1H\nX", 4, []string{"b   ", "X   ", "c   "}},
		{"reverse index", "a\r\nb\x1b[1;1H\x1bM", 4, []string{"    ", "a   ", "b   "}},
		{"scroll up and down", "a\r\nb\r\nc\x1b[S\x1b[2T", 4, []string{"    ", "    ", "b   "}},
		{"repeat", "x\x1b[2b", 4, []string{"xxx ", "    ", "    "}},
		{"tabs", "a\tb", 12, []string{"a       b   ", "            ", "            "}},
		{"line drawing", "\x1b(0lqk\x1b(Bq", 4, []string{"┌─┐q", "    ", "    "}},
		{"line drawing through G1", "\x1b)0\x0eq\x0fq", 4, []string{"─q  ", "    ", "    "}},
		{"save and restore", "ab\x1b7\x1b[3;3H\x1b8c", 4, []string{"abc ", "    ", "    "}},
		{"backspace", "ab\b\bX", 4, []string{"Xb  ", "    ", "    "}},
		{"alignment", "\x1b#8", 4, []string{"EEEE", "EEEE", "EEEE"}},
		{"alternate screen and back", "ab\x1b[?1049hXX\x1b[?1049lc", 4, []string{"abc ", "    ", "    "}},
		{"leaving a screen not entered", "ab\x1b[?1049l\x1b[?47lc", 4, []string{"abc ", "    ", "    "}},
		{"saved cursor is per screen", "ab\x1b[?1049h\x1b[3;3H\x1b7\x1b[?1049lc", 4, []string{"abc ", "    ", "    "}},
		{"origin mode", "\x1b[2;3r\x1b[?6h\x1b[1;1HX", 4, []string{"    ", "X   ", "    "}},
		{"a key report is not a restore", "ab\x1b7\x1b[1;1H\x1b[97;5uX", 4, []string{"Xb  ", "    ", "    "}},
		{"modifyOtherKeys is no colour", "\x1b[31ma\x1b[>4;2mb", 4, []string{"ab  ", "    ", "    "}},
		{"C1 as UTF-8 is no control", "a\u009b2Jb", 5, []string{"a2Jb ", "     ", "     "}},
		{"broken UTF-8", "a\xff\xc3(b", 6, []string{"a��(b ", "      ", "      "}},
		{"strings are not printed", "a\x1b]0;t\x07b\x1bPq#\x1b\\c\x1b_x\x1b\\d", 4, []string{"abcd", "    ", "    "}},
		{"a string broken off by a sequence", "a\x1b]0;t\x1b[1;3Hb", 4, []string{"a b ", "    ", "    "}},
		{"cancelled sequence", "a\x1b[3\x18b", 4, []string{"ab  ", "    ", "    "}},
		{"control inside a sequence", "ab\x1b[\r1CX", 4, []string{"aX  ", "    ", "    "}},
		{"reset", "ab\x1b[2;3r\x1bcX", 4, []string{"X   ", "    ", "    "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, en term.Engine) {
				e := term.New(tt.cols, 3, term.Options{Engine: en})
				e.Write([]byte(tt.in))
				if got, want := screen(e), rows(tt.want...); got != want {
					t.Errorf("got\n%swant\n%s", got, want)
				}
				bytewise := term.New(tt.cols, 3, term.Options{Engine: en})
				for i := range len(tt.in) {
					bytewise.Write([]byte(tt.in[i : i+1]))
				}
				if got, want := screen(bytewise), rows(tt.want...); got != want {
					t.Errorf("byte by byte: got\n%swant\n%s", got, want)
				}
			})
		})
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"CJK", "日本x", []string{"日本x ", "      "}},
		{"CJK wraps whole", "abcde日", []string{"abcde ", "日    "}},
		{"CJK without autowrap", "\x1b[?7labcdef日", []string{"abcd日", "      "}},
		{"left half overwritten", "日本\x1b[1Ga", []string{"a 本  ", "      "}},
		{"right half overwritten", "日本\x1b[2Ga", []string{" a本  ", "      "}},
		{"overwritten by a wide glyph", "日本\x1b[2G語", []string{" 語   ", "      "}},
		{"inserting splits nothing else", "日本\x1b[1G\x1b[@", []string{" 日本 ", "      "}},
		{"cut by the edge", "xxxx日\x1b[1G\x1b[@", []string{" xxxx ", "      "}},
		{"accent", "e\u0301x", []string{"e\u0301x    ", "      "}},
		{"accent on the last column", "abcdee\u0301x", []string{"abcdee\u0301", "x     "}},
		{"accent with nothing before", "\u0301x", []string{"x     ", "      "}},
		{"emoji with selector", "\u26a0\ufe0fx", []string{"\u26a0\ufe0fx   ", "      "}},
		{"selector at the edge", "abcde\u26a0\ufe0fx", []string{"abcde\u26a0", "x     "}},
		{"emoji whose second cell the program uses", "\u26a0\ufe0f\x1b[2Gx", []string{"\u26a0x    ", "      "}},
		{"skin tone alone", "✍\x1b[3G🏽x", []string{"✍ 🏽x ", "      "}},
		{"family", "👨\u200d👩\u200d👧x", []string{"👨\u200d👩\u200d👧x   ", "      "}},
		{"skin tone", "✍🏽x", []string{"✍🏽x   ", "      "}},
		{"flag of exactly the width", "abcd🇩🇪", []string{"abcd🇩🇪", "      "}},
		{"two flags", "🇩🇪🇫🇷x", []string{"🇩🇪🇫🇷x ", "      "}},
		{"hangul jamo", "\u1112\u1161\u11abx", []string{"\u1112\u1161\u11abx   ", "      "}},
		{"zero-width space is dropped", "a\u200bb", []string{"ab    ", "      "}},
		{"bidi controls are dropped", "a\u202eb\u2066c", []string{"abc   ", "      "}},
		{"joiner outside an emoji is dropped", "a\u200db", []string{"ab    ", "      "}},
		{"tags outside a flag are dropped", "a\U000e0041b", []string{"ab    ", "      "}},
		{"our own code points", "a\U00040000\U0003fffeb", []string{"a��b  ", "      "}},
		{"soft hyphen", "a\u00adb", []string{"a-b   ", "      "}},
		{"repeat of a wide glyph", "日\x1b[2b", []string{"日日日", "      "}},
		{"icon fonts", "\ue0b0x", []string{"\ue0b0x    ", "      "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, en term.Engine) {
				whole := term.New(6, 2, term.Options{Engine: en})
				whole.Write([]byte(tt.in))
				if got, want := screen(whole), rows(tt.want...); got != want {
					t.Errorf("got\n%swant\n%s", got, want)
				}
				bytewise := term.New(6, 2, term.Options{Engine: en})
				for i := range len(tt.in) {
					bytewise.Write([]byte(tt.in[i : i+1]))
				}
				if got, want := screen(bytewise), rows(tt.want...); got != want {
					t.Errorf("byte by byte: got\n%swant\n%s", got, want)
				}
			})
		})
	}
}

func TestNarrowSelector(t *testing.T) {
	t.Parallel()
	e := term.New(6, 1, term.Options{NarrowSelector: true})
	e.Write([]byte("\u26a0\ufe0fx"))
	if got, want := screen(e), rows("\u26a0\ufe0fx    "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStyles(t *testing.T) {
	t.Parallel()
	red, rgb := frame.Indexed(1), frame.RGB(0, 0, 5)
	tests := []struct {
		name, in string
		want     frame.Style
	}{
		{"default", "x", frame.Style{}},
		{"colour", "\x1b[31mx", frame.Style{FG: red}},
		{"bold keeps the colour", "\x1b[1;31mx", frame.Style{FG: red, Attr: frame.Bold}},
		{"bright", "\x1b[91;102mx", frame.Style{FG: frame.Indexed(9), BG: frame.Indexed(10)}},
		{"256", "\x1b[38;5;200;48;5;1mx", frame.Style{FG: frame.Indexed(200), BG: red}},
		{"a dark 24-bit colour is not a palette one", "\x1b[38;2;0;0;5mx", frame.Style{FG: rgb}},
		{"colons", "\x1b[38:2::0:0:5mx", frame.Style{FG: rgb}},
		{"colons without a colour space", "\x1b[38:2:0:0:5mx", frame.Style{FG: rgb}},
		{"colon palette", "\x1b[38:5:1mx", frame.Style{FG: red}},
		{"curly underline with a colour", "\x1b[4:3;58:2::1:2:3mx", frame.Style{Attr: frame.Underline}},
		{"underline colour with semicolons", "\x1b[58;2;1;2;3;31mx", frame.Style{FG: red}},
		{"no underline", "\x1b[4;4:0mx", frame.Style{}},
		{"dim and off", "\x1b[2;22mx", frame.Style{}},
		{"the rest", "\x1b[2;3;5;7;8;9mx", frame.Style{Attr: frame.Dim | frame.Italic | frame.Blink | frame.Reverse | frame.Conceal | frame.Strike}},
		{"reset", "\x1b[31;1m\x1b[mx", frame.Style{}},
		{"broken colour", "\x1b[38;5mx", frame.Style{}},
		{"too large a channel", "\x1b[38;2;300;0;0mx", frame.Style{}},
		{"defaults", "\x1b[31;41;39;49mx", frame.Style{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, en term.Engine) {
				e := term.New(4, 1, term.Options{Engine: en})
				e.Write([]byte(tt.in))
				if got := e.Frame(0).At(0, 0); got.Text != "x" || got.Style != tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
			})
		})
	}
}

func TestEraseTakesTheBackgroundOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(4, 2, term.Options{Engine: en})
		e.Write([]byte("\x1b[4;44m\x1b[2J  日"))
		g := e.Frame(0)
		blue := frame.Indexed(4)
		if got := g.At(0, 1).Style; got != (frame.Style{BG: blue}) {
			t.Errorf("erased cell is %+v", got)
		}
		if got := g.At(0, 0).Style; got != (frame.Style{BG: blue, Attr: frame.Underline}) {
			t.Errorf("printed blank is %+v", got)
		}
		if l, r := g.At(2, 0), g.At(3, 0); l.Style != r.Style || l.Width != 2 || r.Width != 0 {
			t.Errorf("halves of a wide glyph differ: %+v %+v", l, r)
		}
	})
}

func TestScrollback(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(8, 3, term.Options{Engine: en, Scrollback: 5})
		for i := range 10 {
			fmt.Fprintf(writer{e}, "\x1b[3%dm⚠\ufe0f%d日\x1b[m\r\n", i%8, i)
		}
		if n := e.ScrollbackLen(); n != 5 {
			t.Fatalf("scrollback holds %d lines, want 5", n)
		}
		if got, want := e.Line(0), "⚠\ufe0f3日"; got != want {
			t.Errorf("oldest line %q, want %q", got, want)
		}
		if got, want := e.Line(5), "⚠\ufe0f8日"; got != want {
			t.Errorf("top of the screen %q, want %q", got, want)
		}
		g := e.Frame(2)
		if got, want := g.String(), "⚠\ufe0f6日\n⚠\ufe0f7日\n⚠\ufe0f8日\n"; got != want {
			t.Errorf("scrolled back: %q, want %q", got, want)
		}
		if c := g.At(0, 0); c.Width != 2 || c.Style.FG != frame.Indexed(6) {
			t.Errorf("history cell %+v", c)
		}
		if g.Cursor.Visible {
			t.Error("cursor shown in the history")
		}
		if got := e.Frame(99).String(); got != e.Frame(5).String() {
			t.Error("an offset beyond the history is not its top")
		}
	})
}

func TestScrollbackKeepsOut(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"alternate screen": "\x1b[?1049h1\n2\n3\n4\n5\n",
		"region below":     "\x1b[2;3r\x1b[3;1H\n\n\n",
		"reverse":          "\x1bM\x1bM\x1bM",
		"erased":           "1\n2\n3\n4\n\x1b[3J",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := term.New(8, 3, term.Options{})
			e.Write([]byte(in))
			if n := e.ScrollbackLen(); n != 0 {
				t.Errorf("%d lines in the history", n)
			}
		})
	}
}

func TestScrollbackBytesAreCapped(t *testing.T) {
	t.Parallel()
	e := term.New(200, 3, term.Options{Scrollback: 1 << 20, ScrollbackBytes: 64 << 10})
	for i := range 2000 {
		for x := range 100 {
			fmt.Fprintf(writer{e}, "\x1b[38;5;%dmx", (i+x)%256)
		}
		e.Write([]byte("\r\n"))
	}
	if n := e.ScrollbackLen(); n == 0 || n > 64<<10/(28*100) {
		t.Errorf("%d lines of about 3 kB in 64 kB", n)
	}
}

type writer struct{ e term.Emulator }

func (w writer) Write(p []byte) (int, error) { w.e.Write(p); return len(p), nil }

func TestResize(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(6, 3, term.Options{Engine: en})
		e.Write([]byte("one\r\ntwo 日\r\nthree$"))
		e.Resize(4, 2)
		if got, want := screen(e), rows("two ", "thre"); got != want {
			t.Errorf("shrunk: got\n%swant\n%s", got, want)
		}
		if got := e.Line(0); got != "one" {
			t.Errorf("history has %q", got)
		}
		e.Resize(6, 3)
		if got, want := screen(e), rows("one   ", "two 日", "three$"); got != want {
			t.Errorf("grown again: got\n%swant\n%s", got, want)
		}
		e.Resize(6, 5)
		e.Write([]byte("\x1b[3;6H!"))
		if got, want := e.Frame(0).String(), "one\ntwo 日\nthree!\n\n\n"; got != want {
			t.Errorf("taller: got %q, want %q", got, want)
		}
	})
}

func TestResizeInAlternateScreen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, en term.Engine) {
		e := term.New(6, 4, term.Options{Engine: en})
		e.Write([]byte("1\r\n2\r\n3\r\n4\x1b[?1049hX"))
		e.Resize(6, 2)
		e.Resize(6, 3)
		e.Write([]byte("\x1b[?1049l$"))
		if got, want := e.Frame(0).String(), "2\n3\n4$\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestSynchronizedUpdate(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	e := term.New(6, 1, term.Options{Clock: clock, SyncDeadline: 100 * time.Millisecond})
	e.Write([]byte("old\x1b[?2026h\rnew"))
	if got := screen(e); got != rows("old   ") || !e.Modes().Synchronized {
		t.Errorf("inside an update: %q", got)
	}
	e.Write([]byte("er\x1b[?2026l"))
	if got := screen(e); got != rows("newer ") || e.Modes().Synchronized {
		t.Errorf("after it: %q", got)
	}
	now = now.Add(time.Second)
	e.Write([]byte("\x1b[?2026h\x1b[2K\rlate"))
	now = now.Add(60 * time.Millisecond)
	e.Write([]byte("\x1b[?2026h"))
	if got := screen(e); got != rows("newer ") {
		t.Errorf("before the deadline: %q", got)
	}
	now = now.Add(60 * time.Millisecond)
	if got := screen(e); got != rows("late  ") {
		t.Errorf("a second mark extended the deadline: %q", got)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"DA1", "\x1b[c", "\x1b[?62;22c"},
		{"DECID", "\x1bZ", "\x1b[?62;22c"},
		{"DA2", "\x1b[>c", "\x1b[>1;10;0c"},
		{"DA3", "\x1b[=c", "\x1bP!|4C5A5254\x1b\\"},
		{"XTVERSION", "\x1b[>q", "\x1bP>|lazaret\x1b\\"},
		{"status", "\x1b[5n", "\x1b[0n"},
		{"cursor", "\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"cursor in origin mode", "\x1b[2;3r\x1b[?6h\x1b[6n", "\x1b[1;1R"},
		{"DECXCPR", "\x1b[?6n", "\x1b[?1;1R"},
		{"mode reset", "\x1b[?2026$p", "\x1b[?2026;2$y"},
		{"mode set", "\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"},
		{"mode unknown", "\x1b[?1016$p", "\x1b[?1016;0$y"},
		{"clusters", "\x1b[?2027$p", "\x1b[?2027;3$y"},
		{"ANSI mode", "\x1b[4h\x1b[4$p", "\x1b[4;1$y"},
		{"kitty", "\x1b[?u", "\x1b[?0u"},
		{"kitty pushed", "\x1b[>7u\x1b[?u", "\x1b[?7u"},
		{"kitty popped", "\x1b[>1u\x1b[>7u\x1b[<u\x1b[?u", "\x1b[?1u"},
		{"kitty set", "\x1b[=5;1u\x1b[=2;2u\x1b[=1;3u\x1b[?u", "\x1b[?6u"},
		{"kitty is per screen", "\x1b[>1u\x1b[?1049h\x1b[?u", "\x1b[?0u"},
		{"foreground", "\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\"},
		{"background", "\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"palette", "\x1b]4;1;?;196;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\\x1b]4;196;rgb:ffff/0000/0000\x1b\\"},
		{"colours cannot be set", "\x1b]11;#ffffff\x07\x1b]4;1;#fff\x07\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"scheme", "\x1b[?996n", "\x1b[?997;1n"},
		{"pixels", "\x1b[14t", "\x1b[4;48;64t"},
		{"cells", "\x1b[18t", "\x1b[8;3;8t"},
		{"title is not read back", "\x1b]0;rm -rf\x07\x1b[21t", ""},
		{"clipboard is not read", "\x1b]52;c;?\x07", ""},
		{"DECRQSS", "\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r0;1;38:5:1m\x1b\\"},
		{"DECRQSS unknown", "\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"},
		{"XTGETTCAP", "\x1bP+q544e\x1b\\", "\x1bP1+r544e=787465726D2D323536636F6C6F72\x1b\\"},
		{"modifyOtherKeys", "\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := term.New(8, 3, term.Options{})
			e.Write([]byte(tt.in))
			if got := string(e.TakeReplies()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := e.TakeReplies(); len(got) != 0 {
				t.Errorf("replied twice: %q", got)
			}
		})
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	e := term.New(8, 3, term.Options{})
	e.Write([]byte("\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[>1u\x1b[>4;1m"))
	want := term.Modes{
		AppCursor: true, AppKeypad: true, BracketedPaste: true, FocusEvents: true,
		Mouse: term.MouseDrag, MouseSGR: true, KittyFlags: 1, ModifyOtherKeys: 1,
	}
	if got := e.Modes(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	e.Write([]byte("\x1bc"))
	if got := e.Modes(); got != (term.Modes{}) {
		t.Errorf("after a reset: %+v", got)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	e := term.New(8, 3, term.Options{})
	e.Write([]byte("\a\a\x1b]9;do\u202ene\x07\x1b]777;notify;T;B\x07\x1b]52;c;aGk=\x07\x1b]7501;state=idle\x07\x1b]9;4;1;50\x07\x1b]7501;state=idle\x07\x1b]2;ti\x01tle\x07"))
	want := []term.Event{
		{Kind: term.EventBell},
		{Kind: term.EventNotify, Text: `do\u{202e}ne`},
		{Kind: term.EventNotify, Text: "T: B"},
		{Kind: term.EventClipboard, Text: "hi"},
		{Kind: term.EventStatus, Text: "state=idle"},
	}
	if got := e.TakeEvents(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := e.Title(); got != "title" {
		t.Errorf("title %q", got)
	}
}
