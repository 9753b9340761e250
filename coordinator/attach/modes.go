package attach

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// modes watches what a program switches on in the terminal, so that it can be
// switched off when the terminal is needed for something else, and on again
// afterwards. It knows DEC private modes (CSI ? n h/l) and nothing more: colours
// and position are the program's to restore.
type modes struct {
	changed map[int]bool // mode → its value, where not the usual one
	partial []byte       // of a sequence cut off by the end of a chunk
}

// usual is the value of a mode in a terminal nobody changed; all others are off.
var usual = map[int]bool{7: true, 25: true} // autowrap, cursor shown

// maxMode is above every mode there is. Numbers beyond it are not remembered: a
// program can print any amount of them.
const maxMode = 9999

// neutral undoes what a program can do to a terminal besides the DEC private modes
// it was seen to set. Without it, a title that never ends would swallow the card
// asking about the program's request, and the program's own drawing would be all
// there is to read.
const (
	unfinished = "\x18\x1b\\"    // ends a sequence or a string without its end
	neutral    = "\x1b[?2026l" + // drawing held back until the program says so
		"\x1b[4l\x1b[?6l\x1b[?69l\x1b[?5l\x1b[?7h\x1b[?25h" + // insertion, origin, side margins, reverse, wrap, cursor
		"\x1b%G\x1b(B\x0f" + // character sets
		"\x1b[0m\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\" + // attributes, the palette, text and background
		"\x1b[>4m\x1b[=0u" + // keys reported in other ways
		"\x1b7\x1b[r\x1b8" // the scrolling region, with the cursor where it is
)

// maxSequence bounds what is kept of an unfinished sequence.
const maxSequence = 64

// observe looks at output on its way to the terminal.
func (m *modes) observe(data []byte) {
	if len(m.partial) > 0 {
		data = append(m.partial, data...)
		m.partial = nil
	}
	for i := 0; i < len(data); i++ {
		if data[i] != 0x1b {
			continue
		}
		n, whole := m.sequence(data[i:])
		if !whole {
			if rest := data[i:]; len(rest) < maxSequence {
				m.partial = append([]byte(nil), rest...)
			}
			return
		}
		i += n - 1
	}
}

// sequence reads one escape sequence at the start of b: its length, and whether
// all of it is there.
func (m *modes) sequence(b []byte) (n int, whole bool) {
	const intro = "\x1b[?"
	for i := 0; i < len(intro); i++ {
		if i == len(b) {
			return 0, false
		}
		if b[i] != intro[i] {
			return max(i, 1), true // another sequence
		}
	}
	for i := len(intro); i < len(b) && i < maxSequence; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9' || c == ';':
		case c == 'h' || c == 'l':
			m.set(string(b[len(intro):i]), c == 'h')
			return i + 1, true
		default:
			return i, true
		}
	}
	return len(b), len(b) >= maxSequence
}

func (m *modes) set(list string, on bool) {
	if m.changed == nil {
		m.changed = map[int]bool{}
	}
	for _, field := range strings.Split(list, ";") {
		n, err := strconv.Atoi(field)
		switch {
		case err != nil || n > maxMode || n == 2026: // synchronised output ends by itself
		case usual[n] == on:
			delete(m.changed, n)
		default:
			m.changed[n] = on
		}
	}
}

// suspend is what brings the terminal back to its usual state.
func (m *modes) suspend() string { return "\x1b[0m" + m.write(false) }

// resume is what undoes suspend.
func (m *modes) resume() string { return m.write(true) }

func (m *modes) write(program bool) string {
	var out strings.Builder
	for _, n := range slices.Sorted(maps.Keys(m.changed)) {
		final := "l"
		if m.changed[n] == program {
			final = "h"
		}
		out.WriteString("\x1b[?" + strconv.Itoa(n) + final)
	}
	return out.String()
}
