package term

import "lazaret.dev/lazaret/internal/frame"

// setStyle is SGR.
func (e *engine) setStyle(s *sequence) {
	st := e.cursor.style
	if s.n == 0 {
		st = frame.Style{}
	}
	for i := 0; i < s.n; {
		i = s.styleParameter(i, &st)
	}
	if st != e.cursor.style {
		e.cursor.style, e.cursor.styleID = st, e.style(st)
	}
}

// attrOn and attrOff are the SGR parameters of the attributes.
var (
	attrOn = map[int]frame.Attr{
		1: frame.Bold, 2: frame.Dim, 3: frame.Italic, 4: frame.Underline, 5: frame.Blink, 6: frame.Blink,
		7: frame.Reverse, 8: frame.Conceal, 9: frame.Strike, 21: frame.Underline,
	}
	attrOff = map[int]frame.Attr{
		22: frame.Bold | frame.Dim, 23: frame.Italic, 24: frame.Underline, 25: frame.Blink,
		27: frame.Reverse, 28: frame.Conceal, 29: frame.Strike,
	}
)

// styleParameter applies parameter i to st and returns where the next one begins.
func (s *sequence) styleParameter(i int, st *frame.Style) int {
	next := i + 1
	for next < s.n && s.sub&(1<<next) != 0 {
		next++
	}
	switch p := s.arg(i, 0); {
	case p == 0:
		*st = frame.Style{}
	case p == 4 && next > i+1 && s.arg(i+1, 1) == 0: // 4:0, no underline
		st.Attr &^= frame.Underline
	case p == 38 || p == 48 || p == 58:
		c, after, ok := s.color(i, next)
		switch {
		case ok && p == 38:
			st.FG = c
		case ok && p == 48:
			st.BG = c
		}
		return after
	case p == 39:
		st.FG = frame.Color{}
	case p == 49:
		st.BG = frame.Color{}
	case p >= 30 && p <= 37:
		st.FG = frame.Indexed(uint8(p - 30))
	case p >= 40 && p <= 47:
		st.BG = frame.Indexed(uint8(p - 40))
	case p >= 90 && p <= 97:
		st.FG = frame.Indexed(uint8(p - 90 + 8))
	case p >= 100 && p <= 107:
		st.BG = frame.Indexed(uint8(p - 100 + 8))
	default:
		st.Attr = st.Attr&^attrOff[p] | attrOn[p]
	}
	return next
}

// color reads an extended colour: 38;5;N, 38;2;R;G;B, 38:5:N, 38:2:R:G:B and
// 38:2:SPACE:R:G:B. next is where the parameter after its colons begins.
func (s *sequence) color(i, next int) (c frame.Color, after int, ok bool) {
	args := i + 2
	end := next
	if next == i+1 { // written with semicolons
		switch s.arg(i+1, 0) {
		case 5:
			end = i + 3
		case 2:
			end = i + 5
		default:
			return c, i + 2, false
		}
	} else if s.arg(i+1, 0) == 2 && next-i >= 6 {
		args++ // the colour space comes first
	}
	if end > s.n {
		return c, s.n, false
	}
	channel := func(j int) (uint8, bool) {
		v := s.arg(args+j, 0)
		return uint8(v), v <= 255 && args+j < end
	}
	v, okV := channel(0)
	switch s.arg(i+1, 0) {
	case 5:
		return frame.Indexed(v), end, okV
	case 2:
		g, okG := channel(1)
		b, okB := channel(2)
		return frame.RGB(v, g, b), end, okV && okG && okB
	}
	return c, end, false
}
