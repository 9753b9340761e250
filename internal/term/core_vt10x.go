package term

import (
	"io"
	"strconv"

	"github.com/hinshun/vt10x"
)

// vt10xCore keeps a screen in a vt10x terminal. It sends that terminal only
// sequences it made itself, of a handful of forms that vt10x reads correctly, with
// parameters inside the screen: nothing of what a program prints is parsed there,
// and its own wrapping, modes, replies and colours stay unused. The style number
// travels as the 24-bit foreground colour.
type vt10xCore struct {
	vt          vt10x.Terminal
	cols, rows  int
	out         []byte
	x, y        int // where vt10x's cursor is; x < 0 when that is not certain
	style       uint32
	top, bottom int   // its scrolling region
	used        []int // per row, where the default blanks at its end begin, or later
}

// flushAt is how much is collected before vt10x gets it; each write locks and allocates.
const flushAt = 8 << 10

func newVT10xCore(cols, rows int) *vt10xCore {
	c := &vt10xCore{cols: cols, rows: rows, bottom: rows - 1, used: make([]int, rows)}
	c.vt = vt10x.New(vt10x.WithSize(cols, rows), vt10x.WithWriter(io.Discard))
	c.out = append(c.out, "\x1b[?7l"...)
	return c
}

func (c *vt10xCore) flush() {
	if len(c.out) > 0 {
		c.vt.Write(c.out) //nolint:errcheck // writing to memory; it has no error to give for whole characters
		c.out = c.out[:0]
	}
}

func (c *vt10xCore) resize(cols, rows int) {
	// vt10x slides the screen by its cursor; the engine has already done that.
	c.moveTo(0, 0)
	c.pen(0)
	c.flush()
	c.vt.Resize(cols, rows)
	c.cols, c.rows, c.top, c.bottom, c.x = cols, rows, 0, rows-1, -1
	for len(c.used) < rows {
		c.used = append(c.used, 0)
	}
	c.used = c.used[:rows]
	for y := range c.used {
		c.used[y] = min(c.used[y], cols)
	}
}

func (c *vt10xCore) moveTo(x, y int) {
	switch {
	case c.x == x && c.y == y:
		return
	case c.x >= 0 && c.y == y && x == 0:
		c.out = append(c.out, '\r')
	default:
		c.sequence('H', y+1, x+1)
	}
	c.x, c.y = x, y
}

func (c *vt10xCore) pen(style uint32) {
	if style == c.style {
		return
	}
	c.style = style
	if style == 0 {
		c.sequence('m', 39)
		return
	}
	c.sequence('m', 38, 2, int(style>>16&0xff), int(style>>8&0xff), int(style&0xff))
}

func (c *vt10xCore) sequence(final byte, params ...int) {
	c.out = append(c.out, "\x1b["...)
	for i, p := range params {
		if i > 0 {
			c.out = append(c.out, ';')
		}
		c.out = strconv.AppendInt(c.out, int64(p), 10)
	}
	c.out = append(c.out, final)
	if len(c.out) >= flushAt {
		c.flush()
	}
}

func (c *vt10xCore) write(x, y int, text []byte, style uint32) {
	c.moveTo(x, y)
	c.pen(style)
	c.out = append(c.out, text...)
	for _, b := range text {
		if b&0xc0 != 0x80 {
			c.x++
		}
	}
	c.used[y] = max(c.used[y], c.x)
	if c.x >= c.cols {
		c.x = -1
	}
	if len(c.out) >= flushAt {
		c.flush()
	}
}

func (c *vt10xCore) erase(x0, x1, y int, style uint32) {
	if x0 >= x1 {
		return
	}
	c.moveTo(x0, y)
	c.pen(style)
	c.sequence('X', x1-x0)
	switch {
	case style != 0:
		c.used[y] = max(c.used[y], x1)
	case x1 >= c.used[y]:
		c.used[y] = min(c.used[y], x0)
	}
}

func (c *vt10xCore) scroll(top, bottom, n int, style uint32) {
	if top != c.top || bottom != c.bottom {
		c.sequence('r', top+1, bottom+1)
		c.top, c.bottom, c.x, c.y = top, bottom, 0, 0
	}
	c.pen(style)
	used := c.used[top : bottom+1]
	fresh := used[:max(0, -n)]
	switch {
	case n > 0:
		copy(used, used[n:])
		fresh = used[len(used)-n:]
		if n == 1 {
			c.sequence('S') // the form vt10x parses fastest
		} else {
			c.sequence('S', n)
		}
	case n < 0:
		copy(used[-n:], used)
		c.sequence('T', -n)
	}
	for i := range fresh {
		fresh[i] = 0
		if style != 0 {
			fresh[i] = c.cols
		}
	}
}

func (c *vt10xCore) shift(x, y, n int, style uint32) {
	c.moveTo(x, y)
	c.pen(style)
	switch {
	case n > 0:
		c.sequence('@', n)
		c.used[y] = min(c.cols, max(c.used[y], x)+n)
	case n < 0:
		c.sequence('P', -n)
		if style != 0 {
			c.used[y] = c.cols
		}
	}
}

func (c *vt10xCore) row(y int, dst []glyph) []glyph {
	c.flush()
	for x := range c.used[y] {
		cell := c.vt.Cell(x, y)
		g := glyph{r: cell.Char, style: uint32(cell.FG)}
		if cell.FG == vt10x.DefaultFG {
			g.style = 0
		}
		dst = append(dst, g)
	}
	for range c.cols - c.used[y] {
		dst = append(dst, glyph{r: ' '})
	}
	return dst
}
