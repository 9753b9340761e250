package term

import (
	"encoding/hex"
	"fmt"
	"strings"

	"lazaret.dev/lazaret/internal/frame"
)

// Answers that never change: a VT220 with colour, so that programs use what an
// xterm has and ask for the rest.
const (
	primaryAttributes   = "\x1b[?62;22c"
	secondaryAttributes = "\x1b[>1;10;0c"
	tertiaryAttributes  = "\x1bP!|4C5A5254\x1b\\"
)

// maxReplies is how much the program may have us answer before it reads. What does
// not fit is left out, whole.
const maxReplies = 8 << 10

// The cell size in pixels that size queries are answered with.
const (
	cellWidth  = 8
	cellHeight = 16
)

func (e *engine) reply(s string) {
	if len(e.replies)+len(s) <= maxReplies {
		e.replies = append(e.replies, s...)
	}
}

func (e *engine) replyf(format string, args ...any) { e.reply(fmt.Sprintf(format, args...)) }

// TakeReplies implements Emulator.
func (e *engine) TakeReplies() []byte {
	r := e.replies
	e.replies = nil
	return r
}

// reportStatus is DSR.
func (e *engine) reportStatus(s *sequence) {
	y := e.cursor.y
	if e.cursor.origin {
		y -= e.margins.top
	}
	switch m := s.arg(0, 0); {
	case m == 5 && s.prefix == 0:
		e.reply("\x1b[0n")
	case m == 6 && s.prefix == 0:
		e.replyf("\x1b[%d;%dR", y+1, e.cursor.x+1)
	case m == 6:
		e.replyf("\x1b[?%d;%dR", y+1, e.cursor.x+1)
	case m == 996 && s.prefix == '?': // colour scheme: 1 dark, 2 light
		scheme := 1
		if bg := e.opt.Palette.Background; int(bg.R)+int(bg.G)+int(bg.B) > 3*128 {
			scheme = 2
		}
		e.replyf("\x1b[?997;%dn", scheme)
	}
}

// reportMode is DECRQM.
func (e *engine) reportMode(s *sequence) {
	m := s.arg(0, 0)
	switch s.prefix {
	case 0:
		e.replyf("\x1b[%d;%d$y", m, e.modeState(false, m))
	case '?':
		e.replyf("\x1b[?%d;%d$y", m, e.modeState(true, m))
	}
}

// reportWindow answers the size queries of XTWINOPS; the rest of it (moving windows,
// reading back titles) is not for a pane.
func (e *engine) reportWindow(s *sequence) {
	switch s.arg(0, 0) {
	case 14:
		e.replyf("\x1b[4;%d;%dt", e.rows*cellHeight, e.cols*cellWidth)
	case 16:
		e.replyf("\x1b[6;%d;%dt", cellHeight, cellWidth)
	case 18:
		e.replyf("\x1b[8;%d;%dt", e.rows, e.cols)
	}
}

// dcs implements handler: DECRQSS and XTGETTCAP.
func (e *engine) dcs(data []byte) {
	switch s := string(data); {
	case strings.HasPrefix(s, "$q"):
		e.reportSetting(s[2:])
	case strings.HasPrefix(s, "+q"):
		for _, name := range strings.SplitN(s[2:], ";", maxParams) {
			e.reportCapability(name)
		}
	}
}

func (e *engine) reportSetting(what string) {
	var value string
	switch what {
	case "m":
		value = styleCodes(e.cursor.style)
	case "r":
		value = fmt.Sprintf("%d;%dr", e.margins.top+1, e.margins.bottom+1)
	case " q":
		value = fmt.Sprintf("%d q", e.mode.cursorShape)
	default:
		e.reply("\x1bP0$r\x1b\\")
		return
	}
	e.reply("\x1bP1$r" + value + "\x1b\\")
}

func styleCodes(st frame.Style) string {
	var p []string
	for code := 1; code <= 9; code++ {
		if code != 6 && attrOn[code]&st.Attr != 0 {
			p = append(p, fmt.Sprint(code))
		}
	}
	return strings.Join(append([]string{"0"}, append(p, append(colorCodes(st.FG, 38), colorCodes(st.BG, 48)...)...)...), ";") + "m"
}

func colorCodes(c frame.Color, base int) []string {
	if r, g, b, ok := c.Components(); ok {
		return []string{fmt.Sprintf("%d:2::%d:%d:%d", base, r, g, b)}
	}
	if i, ok := c.Index(); ok {
		return []string{fmt.Sprintf("%d:5:%d", base, i)}
	}
	return nil
}

// reportCapability answers one XTGETTCAP name, given and answered in hexadecimal.
func (e *engine) reportCapability(encoded string) {
	name, err := hex.DecodeString(encoded)
	if err != nil || len(encoded) > 64 {
		e.reply("\x1bP0+r\x1b\\")
		return
	}
	values := map[string]string{"TN": "xterm-256color", "name": "xterm-256color", "Co": "256", "colors": "256", "RGB": "8"}
	value, ok := values[string(name)]
	if !ok {
		e.reply("\x1bP0+r" + encoded + "\x1b\\")
		return
	}
	e.reply("\x1bP1+r" + encoded + "=" + strings.ToUpper(hex.EncodeToString([]byte(value))) + "\x1b\\")
}
