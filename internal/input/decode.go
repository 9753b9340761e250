package input

import (
	"bytes"
	"strconv"
)

// event makes the event of a complete sequence.
func event(kind scanned, raw []byte) Event {
	ev := Event{Kind: Key, Raw: raw}
	switch kind {
	case scanReply:
		ev.Kind = Reply
	case scanMouseX10:
		ev.Kind = Mouse
		ev.Mouse = decodeMouse(int(raw[3])-32, int(raw[4])-33, int(raw[5])-33, true)
		if int(raw[3])&3 == 3 && raw[3]&0x40 == 0 && ev.Mouse.Action == Press {
			ev.Mouse.Action, ev.Mouse.Button = Release, ButtonLeft
		}
	case scanCSI:
		decodeCSI(&ev)
	}
	return ev
}

// decodeCSI tells keys from mouse reports, focus reports and replies. Sequences with
// a private prefix are never keys.
func decodeCSI(ev *Event) {
	body, final := ev.Raw[2:len(ev.Raw)-1], ev.Raw[len(ev.Raw)-1]
	switch {
	case len(body) == 0 && final == 'I':
		ev.Kind = FocusIn
	case len(body) == 0 && final == 'O':
		ev.Kind = FocusOut
	case len(body) == 0:
	case body[0] == '<' && (final == 'M' || final == 'm'):
		p := params(body[1:])
		if len(p) != 3 {
			ev.Kind = Reply
			return
		}
		ev.Kind = Mouse
		ev.Mouse = decodeMouse(p[0], p[1]-1, p[2]-1, final == 'M')
	case body[0] >= '<', bytes.ContainsAny(body, " !\"#$%&'()*+,-./"):
		ev.Kind = Reply
	case final == 'n', final == 't', final == 'c', final == 'x', final == 'y':
		ev.Kind = Reply
	case string(ev.Raw) == "\x1b[201~": // the end of a paste that never began
		ev.Kind = Reply
	case final == 'u' && silent(ev.Raw):
		ev.Kind = Reply
	}
}

// silent reports whether a kitty key report is of no use to anyone who did not ask
// for it: a bare modifier or lock key, or a release.
func silent(raw []byte) bool {
	k, ok := decodeKey(raw)
	return ok && (k.release || k.code >= 57358 && k.code <= 57360 || k.code >= 57441 && k.code <= 57454)
}

// decodeMouse reads the button code shared by the X10 and SGR reports.
func decodeMouse(code, x, y int, press bool) MouseEvent {
	m := MouseEvent{
		X: max(0, x), Y: max(0, y), Action: Press,
		Shift: code&4 != 0, Alt: code&8 != 0, Control: code&16 != 0,
	}
	switch low := code & 3; {
	case code&128 != 0:
		m.Button = ButtonExtra
	case code&64 != 0:
		m.Button = WheelUp + Button(low)
	case low == 3:
		m.Button = ButtonNone
	default:
		m.Button = ButtonLeft + Button(low)
	}
	switch {
	case code&32 != 0:
		m.Action = Motion
	case !press:
		m.Action = Release
	}
	return m
}

// params reads decimal parameters; anything unreadable is -1.
func params(b []byte) []int {
	var out []int
	for _, f := range bytes.Split(b, []byte{';'}) {
		n, err := strconv.Atoi(string(f))
		if err != nil || n < 0 || n > 1<<20 {
			n = -1
		}
		out = append(out, n)
	}
	return out
}
