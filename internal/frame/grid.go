package frame

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Rect is an area of a grid, in cells.
type Rect struct{ X, Y, W, H int }

// Inset returns r without a border of n cells; it may be empty.
func (r Rect) Inset(n int) Rect {
	return Rect{r.X + n, r.Y + n, max(0, r.W-2*n), max(0, r.H-2*n)}
}

// Contains reports whether the cell at x, y lies in r.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Empty reports whether r has no cell.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Grid is a rectangle of cells, drawn into from the top. Drawing outside it is
// cut off, never an error, and never leaves half a wide glyph behind.
type Grid struct {
	W, H   int
	Cells  []Cell // row by row
	Cursor Cursor
}

// NewGrid returns a blank grid; negative sizes count as 0.
func NewGrid(w, h int) *Grid {
	g := &Grid{W: max(0, w), H: max(0, h)}
	g.Cells = make([]Cell, g.W*g.H)
	repeat(g.Cells, Blank(Style{}))
	return g
}

// repeat sets every cell to c, at the speed of copying.
func repeat(cells []Cell, c Cell) {
	if len(cells) == 0 {
		return
	}
	cells[0] = c
	for n := 1; n < len(cells); n *= 2 {
		copy(cells[n:], cells[:n])
	}
}

// At returns the cell at x, y; outside the grid it is a default blank.
func (g *Grid) At(x, y int) Cell {
	if x < 0 || y < 0 || x >= g.W || y >= g.H {
		return Blank(Style{})
	}
	return g.Cells[y*g.W+x]
}

// Fill blanks the area in the given style.
func (g *Grid) Fill(r Rect, s Style) {
	from, to := max(0, r.X), min(g.W, r.X+r.W)
	if from >= to {
		return
	}
	for y := max(0, r.Y); y < min(g.H, r.Y+r.H); y++ {
		// Only at the ends can a wide glyph be cut in two.
		g.put(from, y, Blank(s))
		g.put(to-1, y, Blank(s))
		repeat(g.Cells[y*g.W+from:y*g.W+to], Blank(s))
	}
}

// Set draws one cell. A wide cell that does not fit becomes a blank.
func (g *Grid) Set(x, y int, c Cell) {
	if x < 0 || y < 0 || x >= g.W || y >= g.H || c.Width == 0 {
		return
	}
	if c.Width == 2 && x+1 >= g.W {
		c = Blank(c.Style)
	}
	g.put(x, y, c)
	if c.Width == 2 {
		g.put(x+1, y, Cell{Style: c.Style})
	}
}

// put stores a cell and blanks the half of a wide glyph it cuts in two.
func (g *Grid) put(x, y int, c Cell) {
	i := y*g.W + x
	old := g.Cells[i]
	if old.Width == 2 && x+1 < g.W && g.Cells[i+1].Width == 0 {
		g.Cells[i+1] = Blank(g.Cells[i+1].Style)
	}
	if old.Width == 0 && c.Width != 0 && x > 0 && g.Cells[i-1].Width == 2 {
		g.Cells[i-1] = Blank(g.Cells[i-1].Style)
	}
	g.Cells[i] = c
}

// Text draws s in one line from x, y, at most width cells, and returns the cells
// used. Control characters are drawn as nothing; callers sanitise guest text
// first (term.Sanitize).
func (g *Grid) Text(x, y, width int, s string, st Style) int {
	used := 0
	state := -1
	for s != "" {
		var cluster string
		var w int
		cluster, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if w == 0 || strings.ContainsFunc(cluster, isControl) {
			continue
		}
		w = min(w, 2)
		if used+w > width {
			break
		}
		g.Set(x+used, y, Cell{Text: cluster, Width: uint8(w), Style: st})
		used += w
	}
	return used
}

// Draw copies the area src of other to x, y.
func (g *Grid) Draw(x, y int, other *Grid, src Rect) {
	for dy := range src.H {
		if g.drawRow(x, y+dy, other, Rect{src.X, src.Y + dy, src.W, 1}) {
			continue
		}
		for dx := range src.W {
			g.Set(x+dx, y+dy, other.At(src.X+dx, src.Y+dy))
		}
	}
}

// drawRow copies one row at once, and reports whether it could: the row lies
// within both grids and cuts no wide glyph at its ends.
func (g *Grid) drawRow(x, y int, other *Grid, src Rect) bool {
	if src.W <= 0 || x < 0 || y < 0 || y >= g.H || x+src.W > g.W ||
		src.X < 0 || src.Y < 0 || src.Y >= other.H || src.X+src.W > other.W {
		return false
	}
	from := other.Cells[src.Y*other.W+src.X:][:src.W]
	to := g.Cells[y*g.W+x:][:src.W]
	last := len(from) - 1
	if from[0].Width == 0 || from[last].Width == 2 || to[0].Width == 0 || to[last].Width == 2 {
		return false
	}
	copy(to, from)
	return true
}

// String returns the grid as text, lines without trailing blanks: for tests.
func (g *Grid) String() string {
	var b strings.Builder
	for y := range g.H {
		var line strings.Builder
		for x := range g.W {
			line.WriteString(g.At(x, y).Text)
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Width returns how many cells s takes.
func Width(s string) int { return uniseg.StringWidth(s) }

func isControl(r rune) bool { return r < 0x20 || (r >= 0x7f && r < 0xa0) }
