package term

import "unicode/utf8"

// nativeCore keeps a screen in plain rows of cells.
type nativeCore struct {
	cols int
	rows [][]glyph
}

func newNativeCore(cols, rows int) *nativeCore {
	c := &nativeCore{}
	c.resize(cols, rows)
	return c
}

func (c *nativeCore) resize(cols, rows int) {
	old := c.rows
	c.cols, c.rows = cols, make([][]glyph, rows)
	for y := range c.rows {
		c.rows[y] = make([]glyph, cols)
		kept := 0
		if y < len(old) {
			kept = copy(c.rows[y], old[y])
		}
		blank(c.rows[y][kept:], 0)
	}
}

func blank(cells []glyph, style uint32) {
	for i := range cells {
		cells[i] = glyph{' ', style}
	}
}

func (c *nativeCore) write(x, y int, text []byte, style uint32) {
	row := c.rows[y]
	for i := 0; i < len(text); x++ {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		row[x] = glyph{r, style}
		i += n
	}
}

func (c *nativeCore) erase(x0, x1, y int, style uint32) { blank(c.rows[y][x0:x1], style) }

func (c *nativeCore) scroll(top, bottom, n int, style uint32) {
	region := c.rows[top : bottom+1]
	switch {
	case n > 0:
		rotate(region, n)
		region = region[len(region)-n:]
	case n < 0:
		rotate(region, len(region)+n)
		region = region[:-n]
	default:
		return
	}
	for _, row := range region {
		blank(row, style)
	}
}

// rotate moves the first n rows to the end.
func rotate(rows [][]glyph, n int) {
	if n == 1 { // a line feed
		first := rows[0]
		copy(rows, rows[1:])
		rows[len(rows)-1] = first
		return
	}
	moved := append([][]glyph(nil), rows[:n]...)
	copy(rows, rows[n:])
	copy(rows[len(rows)-n:], moved)
}

func (c *nativeCore) shift(x, y, n int, style uint32) {
	cells := c.rows[y][x:]
	switch {
	case n > 0:
		copy(cells[n:], cells)
		blank(cells[:n], style)
	case n < 0:
		copy(cells, cells[-n:])
		blank(cells[len(cells)+n:], style)
	}
}

func (c *nativeCore) row(y int, dst []glyph) []glyph { return append(dst, c.rows[y]...) }
