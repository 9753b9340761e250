package layout

// ID names a pane.
type ID int

// Direction is how a split divides its area, or where a neighbour lies.
type Direction uint8

// The directions. A split is made Right or Down; neighbours lie in all four.
const (
	Right Direction = iota + 1
	Down
	Left
	Up
)

// whole is the parts a split's area is divided into.
const whole = 1000

// Node is a pane or a split; trees are never changed, every function returns a new
// one. A nil Node is an empty screen.
type Node struct {
	Pane  ID // of a leaf
	Dir   Direction
	Share int // of the first half, in thousandths
	A, B  *Node
}

// Leaf returns a tree of one pane.
func Leaf(id ID) *Node { return &Node{Pane: id} }

func (n *Node) leaf() bool { return n.A == nil }

// Panes returns the panes in reading order.
func (n *Node) Panes() []ID {
	switch {
	case n == nil:
		return nil
	case n.leaf():
		return []ID{n.Pane}
	}
	return append(n.A.Panes(), n.B.Panes()...)
}

// Has reports whether the tree holds the pane.
func (n *Node) Has(id ID) bool {
	switch {
	case n == nil:
		return false
	case n.leaf():
		return n.Pane == id
	}
	return n.A.Has(id) || n.B.Has(id)
}

// Split gives half of a pane's area to a new pane, to its Right or Down. In an
// empty tree the new pane takes everything.
func (n *Node) Split(at ID, dir Direction, id ID) *Node {
	switch {
	case n == nil:
		return Leaf(id)
	case n.leaf() && n.Pane == at:
		return &Node{Dir: dir, Share: whole / 2, A: n, B: Leaf(id)}
	case n.leaf():
		return n
	}
	return &Node{Dir: n.Dir, Share: n.Share, A: n.A.Split(at, dir, id), B: n.B.Split(at, dir, id)}
}

// Remove takes a pane out; what shared a split with it takes its area.
func (n *Node) Remove(id ID) *Node {
	switch {
	case n == nil, n.leaf() && n.Pane == id:
		return nil
	case n.leaf():
		return n
	}
	a, b := n.A.Remove(id), n.B.Remove(id)
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &Node{Dir: n.Dir, Share: n.Share, A: a, B: b}
}

// Swap exchanges two panes.
func (n *Node) Swap(x, y ID) *Node {
	switch {
	case n == nil:
		return nil
	case n.leaf() && n.Pane == x:
		return Leaf(y)
	case n.leaf() && n.Pane == y:
		return Leaf(x)
	case n.leaf():
		return n
	}
	return &Node{Dir: n.Dir, Share: n.Share, A: n.A.Swap(x, y), B: n.B.Swap(x, y)}
}

// MoveEdge moves an edge of a pane in a direction, by thousandths of the split the
// edge belongs to: its right or lower edge where it has one, else the other.
func (n *Node) MoveEdge(id ID, dir Direction, by int) *Node {
	if dir == Left || dir == Up {
		by = -by
	}
	if next, ok := n.moveLine(id, axis(dir), by, true); ok {
		return next
	}
	next, _ := n.moveLine(id, axis(dir), by, false)
	return next
}

// moveLine moves the line of the innermost split on an axis that has the pane in
// its first (or else second) half.
func (n *Node) moveLine(id ID, on Direction, by int, first bool) (*Node, bool) {
	if n == nil || n.leaf() || !n.Has(id) {
		return n, false
	}
	inA := n.A.Has(id)
	next := &Node{Dir: n.Dir, Share: n.Share, A: n.A, B: n.B}
	moved := false
	if inA {
		next.A, moved = n.A.moveLine(id, on, by, first)
	} else {
		next.B, moved = n.B.moveLine(id, on, by, first)
	}
	if !moved && n.Dir == on && inA == first {
		next.Share = max(whole/20, min(n.Share+by, whole-whole/20))
		moved = true
	}
	return next, moved
}

func axis(d Direction) Direction {
	if d == Left || d == Right {
		return Right
	}
	return Down
}
