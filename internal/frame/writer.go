package frame

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Writer draws grids on the developer's terminal. It remembers what the terminal
// shows and writes only what differs, in one write, in synchronized-output brackets
// where the terminal knows them; an equal grid writes nothing. It has a single user.
type Writer struct {
	out     io.Writer
	profile Profile
	shown   *Grid // what the terminal shows; nil when unknown
	buf     []byte
	pen     pen
	x, y    int // where the terminal's cursor is; x < 0 when unknown
	cursor  Cursor
	known   bool // cursor's visibility and shape are as in the field
}

// NewWriter returns a writer that knows nothing of the terminal yet.
func NewWriter(out io.Writer, p Profile) *Writer {
	return &Writer{out: out, profile: p, x: -1}
}

// Invalidate forgets what the terminal shows; the next Draw repaints all of it.
// Call it after a resize, a resume, or when something else wrote to the terminal.
func (w *Writer) Invalidate() { w.shown = nil }

// SetProfile changes what is known of the terminal, for instance once it answered.
func (w *Writer) SetProfile(p Profile) {
	if p != w.profile {
		w.profile = p
		w.Invalidate()
	}
}

const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
)

// Draw makes the terminal show g. The grid stays the caller's and may be changed
// afterwards. After an error what the terminal shows is unknown again.
func (w *Writer) Draw(g *Grid) error {
	w.buf = w.buf[:0]
	if w.profile.Sync {
		w.buf = append(w.buf, syncBegin...)
	}
	empty := len(w.buf)
	if w.shown == nil || w.shown.W != g.W || w.shown.H != g.H {
		w.restart(g)
	}
	for y := range g.H {
		row, old := g.Cells[y*g.W:(y+1)*g.W], w.shown.Cells[y*g.W:(y+1)*g.W]
		if !slices.Equal(row, old) {
			w.row(y, row, old, empty)
			copy(old, row)
		}
	}
	w.place(g)
	if len(w.buf) == empty {
		return nil
	}
	if w.profile.Sync {
		w.buf = append(w.buf, syncEnd...)
	}
	if _, err := w.out.Write(w.buf); err != nil {
		w.Invalidate()
		return fmt.Errorf("draw %dx%d frame: %w", g.W, g.H, err)
	}
	return nil
}

// restart clears the terminal, so that a blank grid is what it shows.
func (w *Writer) restart(g *Grid) {
	w.shown = NewGrid(g.W, g.H)
	w.pen = pen{}
	w.x, w.y, w.known = -1, 0, false
	w.buf = append(w.buf, "\x1b[?25l\x1b[0m\x1b[2J"...)
	w.cursor = Cursor{}
}

// gapWorth is how many unchanged cells are cheaper to write again than to jump over.
const gapWorth = 5

// row writes the cells of one row that differ from old.
func (w *Writer) row(y int, row, old []Cell, empty int) {
	if len(w.buf) == empty && !w.profile.Sync && w.cursor.Visible {
		// Without brackets the cursor would be seen jumping.
		w.buf = append(w.buf, "\x1b[?25l"...)
		w.cursor.Visible = false
	}
	tail := blankTail(row)
	reach := 0 // cells before it may have been drawn over
	for x := 0; x < len(row); {
		if x >= reach && !w.differs(row, old, x) {
			x++
			continue
		}
		if row[x].Width == 0 && x > 0 && row[x-1].Width == 2 {
			x--
		}
		w.moveTo(x, y, row)
		if x >= tail && len(row)-x > gapWorth {
			w.setStyle(Style{})
			w.buf = append(w.buf, "\x1b[K"...)
			return
		}
		reach = max(reach, x+clusterReach(row[x]))
		x = w.cell(x, row)
	}
}

// clusterReach returns how many cells a cluster takes on a terminal that does not
// join its characters; 0 for a single character, on which terminals agree.
func clusterReach(c Cell) int {
	if c.Width == 0 || utf8.RuneCountInString(c.Text) < 2 {
		return 0
	}
	n := 0
	for _, r := range c.Text {
		if n += min(2, uniseg.StringWidth(string(r))); r >= 0x1f3fb && r <= 0x1f3ff {
			n += 2 // a skin tone that is not joined is drawn as a swatch
		}
	}
	return n
}

// differs reports whether the cell must be written. The cell after a changed one
// that is not ASCII counts as changed: terminals disagree on widths, and what they
// drew may reach into it.
func (w *Writer) differs(row, old []Cell, x int) bool {
	if row[x] != old[x] {
		return true
	}
	return x > 0 && row[x-1] != old[x-1] && (!ascii(row[x-1]) || !ascii(old[x-1]))
}

// moveTo brings the cursor to x, y: over a short gap by writing its cells again.
func (w *Writer) moveTo(x, y int, row []Cell) {
	if w.x == x && w.y == y {
		return
	}
	if w.y == y && w.x >= 0 && w.x < x && x-w.x < gapWorth && plainGap(row[w.x:x], w.pen.style) {
		for _, c := range row[w.x:x] {
			w.buf = append(w.buf, textOf(c)...)
		}
		w.x = x
		return
	}
	w.buf = appendCSI(w.buf, 'H', y+1, x+1)
	w.x, w.y = x, y
}

func plainGap(cells []Cell, s Style) bool {
	for _, c := range cells {
		if !ascii(c) || c.Style != s {
			return false
		}
	}
	return true
}

// cell writes the cell at x and returns where the next one starts.
func (w *Writer) cell(x int, row []Cell) int {
	c := row[x]
	w.setStyle(c.Style)
	if c.Width == 2 && clusterReach(c) > 0 {
		// A terminal that draws it in one cell must not leave old content in the other.
		w.buf = append(w.buf, "  "...)
		w.buf = appendCSI(w.buf, 'H', w.y+1, x+1)
	}
	w.buf = append(w.buf, textOf(c)...)
	next := x + max(1, int(c.Width))
	if ascii(c) && next < len(row) {
		w.x = next
	} else {
		w.x = -1 // the last column, or a glyph of disputed width
	}
	return next
}

// place puts the cursor where the grid wants it.
func (w *Writer) place(g *Grid) {
	c := g.Cursor
	visible := c.Visible && c.X >= 0 && c.Y >= 0 && c.X < g.W && c.Y < g.H
	if visible {
		if w.x != c.X || w.y != c.Y {
			w.buf = appendCSI(w.buf, 'H', c.Y+1, c.X+1)
			w.x, w.y = c.X, c.Y
		}
		if !w.known || c.Shape != w.cursor.Shape {
			w.buf = append(w.buf, "\x1b["...)
			w.buf = strconv.AppendUint(w.buf, uint64(c.Shape), 10)
			w.buf = append(w.buf, " q"...)
			w.cursor.Shape, w.known = c.Shape, true
		}
	}
	if visible != w.cursor.Visible {
		if visible {
			w.buf = append(w.buf, "\x1b[?25h"...)
		} else {
			w.buf = append(w.buf, "\x1b[?25l"...)
		}
		w.cursor.Visible = visible
	}
}

func (w *Writer) setStyle(s Style) {
	w.buf = w.pen.to(w.buf, s, w.profile)
}

// blankTail returns where the default-styled blanks at the end of row begin.
func blankTail(row []Cell) int {
	x := len(row)
	for x > 0 && row[x-1].Style == (Style{}) && row[x-1].Width == 1 && textOf(row[x-1]) == " " {
		x--
	}
	return x
}

func ascii(c Cell) bool {
	return c.Width == 1 && (c.Text == "" || len(c.Text) == 1)
}

// textOf returns what to send for a cell. Cells hold no control characters; one
// that does, by a fault elsewhere, must not reach the terminal.
func textOf(c Cell) string {
	if c.Width == 0 || c.Text == "" {
		return " "
	}
	for i := 0; i < len(c.Text); i++ {
		b := c.Text[i]
		if b < 0x20 || b == 0x7f || b == 0xc2 && i+1 < len(c.Text) && c.Text[i+1] < 0xa0 {
			if c.Width == 2 {
				return "??"
			}
			return "?"
		}
	}
	return c.Text
}

func appendCSI(b []byte, final byte, params ...int) []byte {
	b = append(b, "\x1b["...)
	for i, p := range params {
		if i > 0 {
			b = append(b, ';')
		}
		b = strconv.AppendInt(b, int64(p), 10)
	}
	return append(b, final)
}
