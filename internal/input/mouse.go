package input

import (
	"bytes"
	"strconv"

	"lazaret.dev/lazaret/internal/term"
)

// EncodeMouse returns the report a pane at x, y gets for m, nil when its mouse mode
// does not cover it.
func EncodeMouse(m MouseEvent, pane term.Modes, x, y int) []byte {
	if !reported(m, pane.Mouse) || m.X < x || m.Y < y {
		return nil
	}
	code := buttonCode(m)
	col, row := m.X-x+1, m.Y-y+1
	if pane.MouseSGR {
		b := append([]byte("\x1b[<"), strconv.Itoa(code)...)
		b = strconv.AppendInt(append(b, ';'), int64(col), 10)
		b = strconv.AppendInt(append(b, ';'), int64(row), 10)
		if m.Action == Release {
			return append(b, 'm')
		}
		return append(b, 'M')
	}
	if m.Action == Release {
		code = code&^3 | 3
	}
	if col > 223 || row > 223 || code > 223 {
		return nil // the old form ends here
	}
	return []byte{0x1b, '[', 'M', byte(32 + code), byte(32 + col), byte(32 + row)}
}

func reported(m MouseEvent, mode term.MouseMode) bool {
	switch {
	case mode == term.MouseOff:
		return false
	case m.Action != Motion:
		return true
	case m.Button == ButtonNone:
		return mode == term.MouseMotion
	}
	return mode >= term.MouseDrag
}

func buttonCode(m MouseEvent) int {
	var code int
	switch {
	case m.Button == ButtonNone:
		code = 3
	case m.Button == ButtonExtra:
		code = 128
	case m.Button >= WheelUp:
		code = 64 + int(m.Button-WheelUp)
	default:
		code = int(m.Button - ButtonLeft)
	}
	if m.Action == Motion {
		code |= 32
	}
	for _, f := range [...]struct {
		on  bool
		bit int
	}{{m.Shift, 4}, {m.Alt, 8}, {m.Control, 16}} {
		if f.on {
			code |= f.bit
		}
	}
	return code
}

// WheelKeys returns the cursor keys a wheel step stands for in a full-screen program
// that has no mouse mode (a pager), nil for anything else.
func WheelKeys(m MouseEvent, pane term.Modes) []byte {
	if !pane.AltScreen || pane.Mouse != term.MouseOff || m.Action != Press {
		return nil
	}
	var final byte
	switch m.Button {
	case WheelUp:
		final = 'A'
	case WheelDown:
		final = 'B'
	default:
		return nil
	}
	return bytes.Repeat(cursorForm([]byte{0x1b, '[', final}, pane.AppCursor), 3)
}
