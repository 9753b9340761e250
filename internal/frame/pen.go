package frame

import "strconv"

// pen is the style the terminal writes in at present.
type pen struct{ style Style }

// attrCodes are the SGR parameters of the attributes, in bit order.
var attrCodes = [...]struct {
	attr Attr
	code int
}{
	{Bold, 1}, {Dim, 2}, {Italic, 3}, {Underline, 4},
	{Blink, 5}, {Reverse, 7}, {Conceal, 8}, {Strike, 9},
}

// to appends the shortest change of style from the present one to s, as far as the
// terminal can show it.
func (p *pen) to(b []byte, s Style, profile Profile) []byte {
	s = Downgrade(s, profile)
	if s == p.style {
		return b
	}
	old := p.style
	p.style = s
	b = append(b, "\x1b["...)
	n := len(b)
	if old.Attr&^s.Attr != 0 || s == (Style{}) {
		b = append(b, "0;"...)
		old = Style{}
	}
	for _, a := range attrCodes {
		if s.Attr&^old.Attr&a.attr != 0 {
			b = appendCode(b, a.code)
		}
	}
	if s.FG != old.FG {
		b = appendColor(b, s.FG, 30)
	}
	if s.BG != old.BG {
		b = appendColor(b, s.BG, 40)
	}
	if len(b) == n+2 && b[n] == '0' {
		return append(b[:n], 'm')
	}
	b[len(b)-1] = 'm'
	return b
}

func appendCode(b []byte, code int) []byte {
	return append(strconv.AppendInt(b, int64(code), 10), ';')
}

// appendColor appends the parameters that select c; base is 30 for the foreground
// and 40 for the background.
func appendColor(b []byte, c Color, base int) []byte {
	if r, g, bl, ok := c.Components(); ok {
		b = appendCode(appendCode(b, base+8), 2)
		return appendCode(appendCode(appendCode(b, int(r)), int(g)), int(bl))
	}
	i, ok := c.Index()
	switch {
	case !ok:
		return appendCode(b, base+9)
	case i < 8:
		return appendCode(b, base+int(i))
	case i < 16:
		return appendCode(b, base+60+int(i)-8)
	}
	return appendCode(appendCode(appendCode(b, base+8), 5), int(i))
}
