package input_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/input"
	"lazaret.dev/lazaret/internal/term"
)

// describe writes events the way the tests below expect them.
func describe(events []input.Event) string {
	var parts []string
	for _, ev := range events {
		switch ev.Kind {
		case input.Key:
			parts = append(parts, fmt.Sprintf("key %q", ev.Raw))
		case input.Paste:
			parts = append(parts, fmt.Sprintf("paste %q over=%v size=%d", ev.Text, ev.Over, ev.Size))
		case input.Mouse:
			m := ev.Mouse
			parts = append(parts, fmt.Sprintf("mouse %d,%d b%d a%d", m.X, m.Y, m.Button, m.Action))
		case input.FocusIn:
			parts = append(parts, "in")
		case input.FocusOut:
			parts = append(parts, "out")
		case input.Reply:
			parts = append(parts, fmt.Sprintf("reply %q", ev.Raw))
		}
	}
	return strings.Join(parts, "; ")
}

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"letters", "ab", `key "a"; key "b"`},
		{"control", "\x07\r\t\x7f", `key "\a"; key "\r"; key "\t"; key "\x7f"`},
		{"UTF-8", "é日", `key "é"; key "日"`},
		{"invalid byte", "\xffa", `key "\xff"; key "a"`},
		{"arrows", "\x1b[A\x1bOB\x1b[1;5C", `key "\x1b[A"; key "\x1bOB"; key "\x1b[1;5C"`},
		{"function keys", "\x1b[15~\x1bOP\x1b[[A", `key "\x1b[15~"; key "\x1bOP"; key "\x1b[[A"`},
		{"alt", "\x1bx\x1bé", `key "\x1bx"; key "\x1bé"`},
		{"escape then arrow", "\x1b\x1b[A", `key "\x1b"; key "\x1b[A"`},
		{"kitty", "\x1b[97;5u\x1b[13;2u", `key "\x1b[97;5u"; key "\x1b[13;2u"`},
		{"bare modifiers and releases are swallowed", "\x1b[57441;2u\x1b[57358u\x1b[97;1:3u", `reply "\x1b[57441;2u"; reply "\x1b[57358u"; reply "\x1b[97;1:3u"`},
		{"mouse", "\x1b[<0;3;4M\x1b[<0;3;4m\x1b[<64;1;1M\x1b[<35;2;2M", `mouse 2,3 b1 a1; mouse 2,3 b1 a2; mouse 0,0 b4 a1; mouse 1,1 b0 a3`},
		{"old mouse", "\x1b[M !!\x1b[M#!!", `mouse 0,0 b1 a1; mouse 0,0 b1 a2`},
		{"focus", "\x1b[I\x1b[O", `in; out`},
		{"paste", "a\x1b[200~x\r\x1b[A\x00\x1b[201~b", `key "a"; paste "x\r\x1b[A\x00" over=false size=6; key "b"`},
		{"empty paste", "\x1b[200~\x1b[201~", `paste "" over=false size=0`},
		{"end of no paste", "\x1b[201~", `reply "\x1b[201~"`},
		{"replies", "\x1b[?62;22c\x1b[>1;10;0c\x1b[?2026;2$y\x1b[?1u\x1b[0n\x1b[?997;1n\x1b[8;24;80t",
			`reply "\x1b[?62;22c"; reply "\x1b[>1;10;0c"; reply "\x1b[?2026;2$y"; reply "\x1b[?1u"; reply "\x1b[0n"; reply "\x1b[?997;1n"; reply "\x1b[8;24;80t"`},
		{"string replies", "\x1b]11;rgb:0/0/0\x07\x1b]10;rgb:f/f/f\x1b\\\x1bP>|kitty\x1b\\\x1b_Gi=1;OK\x1b\\a",
			`reply "\x1b]11;rgb:0/0/0\a"; reply "\x1b]10;rgb:f/f/f\x1b\\"; reply "\x1bP>|kitty\x1b\\"; reply "\x1b_Gi=1;OK\x1b\\"; key "a"`},
		{"alt and a bracket is no reply", "\x1b]x\x1bPq", `key "\x1b]"; key "x"; key "\x1bP"; key "q"`},
		{"broken sequence", "\x1b[12\x03", `key "\x1b[12"; key "\x03"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := input.NewParser(0)
			if got := describe(append(p.Feed([]byte(tt.in)), p.Flush()...)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			// K7: cut anywhere, it is put together again.
			for cut := 1; cut < len(tt.in); cut++ {
				p := input.NewParser(0)
				events := p.Feed([]byte(tt.in[:cut]))
				events = append(events, p.Feed([]byte(tt.in[cut:]))...)
				if got := describe(append(events, p.Flush()...)); got != tt.want {
					t.Errorf("cut at %d: got  %s\nwant %s", cut, got, tt.want)
				}
			}
		})
	}
}

func TestEscapeWaitsForTheCaller(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b":     `key "\x1b"`,
		"\x1b[":    `key "\x1b["`,
		"\x1bO":    `key "\x1bO"`,
		"\x1b]":    `key "\x1b]"`,
		"\xe6\x97": `key "\xe6"; key "\x97"`,
	} {
		p := input.NewParser(0)
		if ev := p.Feed([]byte(in)); len(ev) != 0 || !p.Pending() {
			t.Errorf("%q: %s before the timeout, pending %v", in, describe(ev), p.Pending())
		}
		if got := describe(p.Flush()); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
		if p.Pending() {
			t.Errorf("%q: still pending", in)
		}
	}
}

func TestCutReplyIsNotTyped(t *testing.T) {
	t.Parallel()
	p := input.NewParser(0)
	events := p.Feed([]byte("\x1b]11;rgb:00"))
	if p.Pending() {
		t.Error("a reply that has begun waits for a timeout")
	}
	events = append(events, p.Flush()...)
	events = append(events, p.Feed([]byte("00/0000/0000\x1b\\"))...)
	if got, want := describe(events), `reply "\x1b]11;rgb:0000/0000/0000\x1b\\"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPasteIsByteExact(t *testing.T) {
	t.Parallel()
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i * 7)
	}
	content = bytes.ReplaceAll(content, []byte("\x1b[201~"), nil)
	stream := slices.Concat([]byte("\x1b[200~"), content, []byte("\x1b[201~z"))
	for _, size := range []int{1, 3, 4096, len(stream)} {
		if size == 1 {
			stream := slices.Concat([]byte("\x1b[200~"), content[:5000], []byte("\x1b[201~z"))
			checkPaste(t, stream, content[:5000], size)
			continue
		}
		checkPaste(t, stream, content, size)
	}
}

func checkPaste(t *testing.T, stream, content []byte, size int) {
	t.Helper()
	p := input.NewParser(0)
	var events []input.Event
	for chunk := range slices.Chunk(stream, size) {
		events = append(events, p.Feed(chunk)...)
		if p.Pasting() {
			events = append(events, p.Flush()...) // a timeout in the middle changes nothing
		}
	}
	if len(events) != 2 || events[0].Kind != input.Paste || !bytes.Equal(events[0].Text, content) || string(events[1].Raw) != "z" {
		t.Errorf("chunks of %d: %d events", size, len(events))
	}
}

func TestPasteBeyondTheLimit(t *testing.T) {
	t.Parallel()
	p := input.NewParser(10)
	if got, want := describe(p.Feed([]byte("\x1b[200~12345678901\x1b[201~a"))), `paste "" over=true size=11; key "a"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := describe(p.Feed([]byte("\x1b[200~1234567890\x1b[201~"))), `paste "1234567890" over=false size=10`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestChord(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"\x07": "ctrl+g", "\x1b": "esc", "\r": "enter", "\n": "ctrl+j", "\t": "tab", "\x1b[Z": "shift+tab",
		"\x1b[A": "up", "\x1bOA": "up", "\x1b[1;2A": "shift+up", "\x1b[1;7D": "ctrl+alt+left", "\x1b[5~": "pgup",
		"\x1b[6;5~": "ctrl+pgdown", "\x1b[H": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1b[3~": "delete",
		"\x1bx": "alt+x", "\x1bX": "alt+X", "\x1b\r": "alt+enter", "\x1b\x07": "ctrl+alt+g", "a": "a", "A": "A", "?": "?", " ": "space",
		"\x00": "ctrl+space", "\x7f": "backspace", "\x1b\x7f": "alt+backspace", "\x1c": `ctrl+\`, "\x1bOP": "f1", "\x1b[15~": "f5",
		"\x1b[24~": "f12", "\x1b[[A": "f1", "\x1b[1;2P": "shift+f1", "é": "é",
		"\x1b[103;5u": "ctrl+g", "\x1b[27u": "esc", "\x1b[13u": "enter", "\x1b[13;2u": "shift+enter", "\x1b[97;3u": "alt+a",
		"\x1b[97;2u": "A", "\x1b[49:33;2u": "!", "\x1b[9;2u": "shift+tab", "\x1b[57399u": "0", "\x1b[57419u": "up", "\x1b[97;65u": "a",
		"\x1b[103;69u": "ctrl+g", "\x1b[27;5;103~": "ctrl+g", "\x1b[57376u": "f13", "\x1b[32;5u": "ctrl+space", "\x1b[127u": "backspace",
		"\x1b[": "alt+[", "\x1b[999~": "", "\xff": "", "": "",
	} {
		if got := input.Chord([]byte(raw)); got != want {
			t.Errorf("Chord(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	plain, app := term.Modes{}, term.Modes{AppCursor: true}
	kitty, other := term.Modes{KittyFlags: 1}, term.Modes{ModifyOtherKeys: 2}
	tests := []struct {
		raw  string
		pane term.Modes
		want string
	}{
		{"a", kitty, "a"}, {"\x03", plain, "\x03"}, {"\x1b", plain, "\x1b"}, {"日", kitty, "日"},
		{"\x1b[A", plain, "\x1b[A"}, {"\x1b[A", app, "\x1bOA"}, {"\x1bOA", plain, "\x1b[A"}, {"\x1b[1;5A", app, "\x1b[1;5A"},
		{"\x1b[5~", app, "\x1b[5~"}, {"\x1bOP", plain, "\x1bOP"}, {"\x1b[H", app, "\x1bOH"},
		{"\x1b", kitty, "\x1b[27u"}, {"\x03", kitty, "\x1b[99;5u"}, {"\x1bx", kitty, "\x1b[120;3u"}, {"\x1bX", kitty, "\x1b[120;4u"},
		{"\r", kitty, "\r"}, {"\b", kitty, "\b"}, {"\n", kitty, "\n"}, {"\x1b\r", kitty, "\x1b[13;3u"}, {"\t", kitty, "\t"}, {"\x7f", kitty, "\x7f"},
		{"\x1b[13;2u", kitty, "\x1b[13;2u"}, {"\x1b[13;2u", plain, "\r"}, {"\x1b[13;2u", other, "\x1b[27;2;13~"},
		{"\x1b[27u", plain, "\x1b"}, {"\x1b[99;5u", plain, "\x03"}, {"\x1b[120;3u", plain, "\x1bx"}, {"\x1b[120;7u", plain, "\x1b\x18"},
		{"\x1b[97:65;2u", plain, "A"}, {"\x1b[9;2u", plain, "\x1b[Z"}, {"\x1b[32;5u", plain, "\x00"}, {"\x1b[57419u", app, "\x1bOA"},
		{"\x1b[57421u", plain, "\x1b[5~"}, {"\x1b[57428u", plain, ""}, {"\x1b[47;5u", plain, "\x1f"}, {"\x1b[49;5u", plain, "1"},
		{"\x1b[99;5u", term.Modes{ModifyOtherKeys: 1}, "\x03"}, {"\x1b[49;5u", term.Modes{ModifyOtherKeys: 1}, "\x1b[27;5;49~"},
	}
	for _, tt := range tests {
		if got := string(input.Translate([]byte(tt.raw), tt.pane)); got != tt.want {
			t.Errorf("Translate(%q, %+v) = %q, want %q", tt.raw, tt.pane, got, tt.want)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	one := func(in string) input.Event { return input.NewParser(0).Feed([]byte(in))[0] }
	sgr := term.Modes{Mouse: term.MouseClick, MouseSGR: true}
	drag, motion, old := sgr, sgr, sgr
	drag.Mouse, motion.Mouse, old.MouseSGR = term.MouseDrag, term.MouseMotion, false
	tests := []struct {
		in   string
		pane term.Modes
		want string
	}{
		{"\x1b[200~a\rb\x1b[201~", term.Modes{BracketedPaste: true}, "\x1b[200~a\rb\x1b[201~"},
		{"\x1b[200~a\rb\x1b[201~", term.Modes{}, "a\rb"},
		{"\x1b[I", term.Modes{FocusEvents: true}, "\x1b[I"}, {"\x1b[I", term.Modes{}, ""},
		{"\x1b[<0;13;8M", sgr, "\x1b[<0;3;3M"}, {"\x1b[<0;13;8m", sgr, "\x1b[<0;3;3m"}, {"\x1b[<20;13;8M", sgr, "\x1b[<20;3;3M"},
		{"\x1b[<0;13;8M", term.Modes{}, ""}, {"\x1b[<0;5;8M", sgr, ""}, {"\x1b[<0;13;8M", old, "\x1b[M ##"}, {"\x1b[<0;13;8m", old, "\x1b[M###"},
		{"\x1b[<0;400;8M", old, ""}, {"\x1b[<32;13;8M", sgr, ""}, {"\x1b[<32;13;8M", drag, "\x1b[<32;3;3M"},
		{"\x1b[<35;13;8M", drag, ""}, {"\x1b[<35;13;8M", motion, "\x1b[<35;3;3M"}, {"\x1b[<65;13;8M", sgr, "\x1b[<65;3;3M"},
		{"\x1b[?1u", kittyAll(), ""},
	}
	for _, tt := range tests {
		if got := string(input.Encode(one(tt.in), tt.pane, 10, 5)); got != tt.want {
			t.Errorf("Encode(%q, %+v) = %q, want %q", tt.in, tt.pane, got, tt.want)
		}
	}
}

func kittyAll() term.Modes { return term.Modes{KittyFlags: 31} }

func TestWheelKeys(t *testing.T) {
	t.Parallel()
	up := input.MouseEvent{Button: input.WheelUp, Action: input.Press}
	pager := term.Modes{AltScreen: true, AppCursor: true}
	if got := string(input.WheelKeys(up, pager)); got != "\x1bOA\x1bOA\x1bOA" {
		t.Errorf("wheel in a pager gives %q", got)
	}
	if got := input.WheelKeys(up, term.Modes{}); got != nil {
		t.Errorf("wheel in a shell gives %q", got)
	}
}

// FuzzSplit: whatever comes in, however it is cut, the bytes of the events are the
// bytes that came in, except what is marked as a reply or belongs to a paste.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"ab\x1b[A\x1b", "\x1b[200~x\x1b[201~", "\x1b]11;x\x07", "\x1b[<0;1;1M", "\x1bP>|x\x1b\\", "\xe6\x97\xa5"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		p := input.NewParser(1 << 10)
		var events []input.Event
		for chunk := range slices.Chunk(in, int(size)+1) {
			events = append(events, p.Feed(chunk)...)
		}
		events = append(events, p.Flush()...)
		var raw []byte
		for _, ev := range events {
			if ev.Kind == input.Paste {
				if ev.Over != (ev.Size > 1<<10) || !ev.Over && ev.Size != len(ev.Text) {
					t.Fatalf("paste %+v", ev)
				}
				return // the markers are not in the events
			}
			raw = append(raw, ev.Raw...)
			input.Chord(ev.Raw)
			for _, m := range []term.Modes{{}, {KittyFlags: 1}, {ModifyOtherKeys: 2, AppCursor: true}} {
				input.Encode(ev, m, 0, 0)
			}
		}
		if !bytes.HasPrefix(in, raw) {
			t.Fatalf("%q became %q", in, raw)
		}
	})
}
