package layout

import "lazaret.dev/lazaret/internal/frame"

// Placed is a pane and its area; the area may be empty when there is no room.
type Placed struct {
	Pane ID
	Area frame.Rect
}

// Line is a separator: the vertical line of a split to the Right. Splits Down need
// none, the lower pane's title bar separates. Moving the right edge of the pane
// Left moves the line; Span is the width that is split.
type Line struct {
	Area frame.Rect
	Left ID
	Span int
}

// Tiling is where everything is.
type Tiling struct {
	Panes []Placed
	Lines []Line
}

// Tile places the tree in an area.
func Tile(n *Node, area frame.Rect) Tiling {
	var t Tiling
	t.place(n, area)
	return t
}

func (t *Tiling) place(n *Node, area frame.Rect) {
	switch {
	case n == nil:
	case n.leaf():
		t.Panes = append(t.Panes, Placed{Pane: n.Pane, Area: area})
	case n.Dir == Down:
		h := share(area.H, n.Share)
		t.place(n.A, frame.Rect{X: area.X, Y: area.Y, W: area.W, H: h})
		t.place(n.B, frame.Rect{X: area.X, Y: area.Y + h, W: area.W, H: area.H - h})
	default:
		line := min(1, area.W)
		w := share(area.W-line, n.Share)
		t.place(n.A, frame.Rect{X: area.X, Y: area.Y, W: w, H: area.H})
		// The last pane of the first half is in the second half of every split
		// inside, so its right edge is this line and no other.
		left := n.A.Panes()
		t.Lines = append(t.Lines, Line{
			Area: frame.Rect{X: area.X + w, Y: area.Y, W: line, H: area.H},
			Left: left[len(left)-1], Span: area.W,
		})
		t.place(n.B, frame.Rect{X: area.X + w + line, Y: area.Y, W: area.W - w - line, H: area.H})
	}
}

// share is the first half's part of size, leaving at least one cell to either half
// when there are two.
func share(size, part int) int {
	if size < 2 {
		return size
	}
	return max(1, min(size*part/whole, size-1))
}

// Area returns a pane's area.
func (t Tiling) Area(id ID) (frame.Rect, bool) {
	for _, p := range t.Panes {
		if p.Pane == id {
			return p.Area, true
		}
	}
	return frame.Rect{}, false
}

// At returns the pane at a cell.
func (t Tiling) At(x, y int) (ID, bool) {
	for _, p := range t.Panes {
		if p.Area.Contains(x, y) {
			return p.Pane, true
		}
	}
	return 0, false
}

// LineAt returns the separator at a cell.
func (t Tiling) LineAt(x, y int) (Line, bool) {
	for _, l := range t.Lines {
		if l.Area.Contains(x, y) {
			return l, true
		}
	}
	return Line{}, false
}

// Neighbour returns the pane next to another in a direction: the one whose near
// edge is closest, and of those the one it shares the most edge with.
func (t Tiling) Neighbour(id ID, dir Direction) (ID, bool) {
	from, ok := t.Area(id)
	if !ok {
		return 0, false
	}
	best, found := ID(0), false
	bestGap, bestEdge := 0, 0
	for _, p := range t.Panes {
		gap, edge := apart(from, p.Area, dir)
		if p.Pane == id || gap < 0 || edge <= 0 {
			continue
		}
		if !found || gap < bestGap || gap == bestGap && edge > bestEdge {
			best, bestGap, bestEdge, found = p.Pane, gap, edge, true
		}
	}
	return best, found
}

// apart returns how far to lies beyond from in a direction (negative: it does not)
// and how much of an edge they share.
func apart(from, to frame.Rect, dir Direction) (gap, edge int) {
	overlap := func(a, aLen, b, bLen int) int { return min(a+aLen, b+bLen) - max(a, b) }
	rows := overlap(from.Y, from.H, to.Y, to.H)
	cols := overlap(from.X, from.W, to.X, to.W)
	switch dir {
	case Right:
		return to.X - (from.X + from.W), rows
	case Left:
		return from.X - (to.X + to.W), rows
	case Down:
		return to.Y - (from.Y + from.H), cols
	}
	return from.Y - (to.Y + to.H), cols
}
