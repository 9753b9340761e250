package term

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/frame"
)

// syncState is the freeze of synchronized output.
type syncState struct {
	on      bool
	began   time.Time
	frozen  *frame.Grid // the last complete screen
	taken   time.Time   // when frozen was made
	changed bool        // something was written since then
}

// snapshotEvery bounds what a program can make us spend on freezing its screen.
const snapshotEvery = 10 * time.Millisecond

// beginSync is the start mark of mode 2026. A frame begun while one is held keeps
// the first one's deadline: a program cannot freeze its pane for good.
func (e *engine) beginSync() {
	if e.sync.on && e.held() {
		return
	}
	now := e.opt.Clock()
	if e.sync.frozen == nil || e.sync.changed && now.Sub(e.sync.taken) >= snapshotEvery {
		e.sync.frozen, e.sync.taken, e.sync.changed = e.live(), now, false
	}
	e.sync.on, e.sync.began = true, now
}

func (e *engine) endSync() { e.sync.on, e.sync.changed = false, true }

// held reports whether the screen is frozen at present.
func (e *engine) held() bool {
	return e.sync.on && e.opt.Clock().Sub(e.sync.began) < e.opt.SyncDeadline
}

// Frame implements Emulator.
func (e *engine) Frame(offset int) *frame.Grid {
	offset = min(max(0, offset), e.history.len())
	if offset > 0 {
		return e.scrolledBack(offset)
	}
	if e.held() && e.sync.frozen != nil {
		g := *e.sync.frozen
		g.Cells = slices.Clone(g.Cells)
		return &g
	}
	return e.live()
}

// live draws the screen as it is.
func (e *engine) live() *frame.Grid {
	g := &frame.Grid{W: e.cols, H: e.rows, Cells: make([]frame.Cell, e.cols*e.rows)}
	for y := range e.rows {
		e.drawRow(g, y, y)
	}
	c := e.cursor
	g.Cursor = frame.Cursor{X: c.x, Y: c.y, Visible: e.mode.cursorVisible, Shape: frame.CursorShape(e.mode.cursorShape)}
	return g
}

// scrolledBack draws the screen with offset lines of the history above it.
func (e *engine) scrolledBack(offset int) *frame.Grid {
	g := frame.NewGrid(e.cols, e.rows)
	for y := range e.rows {
		if y >= offset {
			e.drawRow(g, y, y-offset)
			continue
		}
		for x, c := range e.history.at(e.history.len() - offset + y).cells(&e.text) {
			g.Set(x, y, c) // right halves come with their glyph
		}
	}
	return g
}

// drawRow draws a row of the screen at gy. What is left of a
// wide glyph whose other half was written over is drawn as a blank.
func (e *engine) drawRow(g *frame.Grid, gy, y int) {
	e.rowCells = e.on.core.row(y, e.rowCells[:0])
	out := g.Cells[gy*g.W : (gy+1)*g.W]
	wide := false // the cell before is a wide glyph's left half
	for x := range out {
		gl := e.rowCells[x]
		c := frame.Cell{Text: " ", Width: 1, Style: e.text.styles.list[gl.style]}
		switch {
		case gl.r < 0x80:
			c.Text = asciiText[gl.r : gl.r+1]
		case gl.r == rightHalf:
			if wide {
				c.Text, c.Width = "", 0
			}
		default:
			c.Text, c.Width = e.glyphText(gl.r)
			if c.Width == 2 && (x+1 >= len(out) || e.rowCells[x+1].r != rightHalf) {
				c.Text, c.Width = e.text.halved(c.Text), 1
			}
		}
		wide = c.Width == 2
		if e.mode.reverseScreen {
			c.Style.Attr ^= frame.Reverse
		}
		out[x] = c
	}
}

// halved returns what is left of a wide glyph whose right half was written over: a
// blank, except where a selector or skin tone made it wide. Programs that count such
// a character as one cell write the next one there, and must not lose this one.
func (t *texts) halved(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n < len(text) && t.widths.of(r) == 1 {
		return t.strings.get(r)
	}
	return " "
}

// glyphText returns what to draw for a character of the screen, and its width.
func (e *engine) glyphText(r rune) (string, uint8) {
	if c, ok := e.text.clusters.get(r); ok {
		return c.text, uint8(c.width)
	}
	if r < 0x300 {
		return e.text.strings.get(r), 1
	}
	return e.text.strings.get(r), uint8(max(1, e.text.widths.of(r)))
}

// ScrollbackLen implements Emulator.
func (e *engine) ScrollbackLen() int { return e.history.len() }

// Line implements Emulator.
func (e *engine) Line(n int) string {
	var b strings.Builder
	switch y := n - e.history.len(); {
	case n < 0 || y >= e.rows:
		return ""
	case y < 0:
		for _, c := range e.history.at(n).cells(&e.text) {
			b.WriteString(c.Text)
		}
	default:
		g := frame.NewGrid(e.cols, 1)
		e.drawRow(g, 0, y)
		for _, c := range g.Cells {
			b.WriteString(c.Text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
