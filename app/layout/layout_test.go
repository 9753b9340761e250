package layout_test

import (
	"testing"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/app/layout"
	"lazaret.dev/lazaret/internal/frame"
)

// grow draws a tree by a sequence of what a developer can do to it.
func grow(t *rapid.T) (*layout.Node, []layout.ID) {
	tree, ids := layout.Leaf(1), []layout.ID{1}
	for next := layout.ID(2); next < layout.ID(rapid.IntRange(2, 12).Draw(t, "panes")); next++ {
		at := rapid.SampledFrom(ids).Draw(t, "at")
		switch rapid.IntRange(0, 4).Draw(t, "do") {
		case 0:
			if len(ids) > 1 {
				tree = tree.Remove(at)
				ids = tree.Panes()
			}
		case 1:
			tree = tree.MoveEdge(at, rapid.SampledFrom([]layout.Direction{layout.Left, layout.Right, layout.Up, layout.Down}).Draw(t, "side"), rapid.IntRange(-900, 900).Draw(t, "by"))
		default:
			tree = tree.Split(at, rapid.SampledFrom([]layout.Direction{layout.Right, layout.Down}).Draw(t, "dir"), next)
			ids = tree.Panes()
		}
	}
	return tree, ids
}

func TestRectanglesTileExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree, ids := grow(t)
		area := frame.Rect{X: rapid.IntRange(0, 5).Draw(t, "x"), Y: rapid.IntRange(0, 5).Draw(t, "y"),
			W: rapid.IntRange(0, 90).Draw(t, "w"), H: rapid.IntRange(0, 40).Draw(t, "h")}
		tiling := layout.Tile(tree, area)
		if len(tiling.Panes) != len(ids) {
			t.Fatalf("%d panes placed, %d in the tree", len(tiling.Panes), len(ids))
		}
		covered := map[[2]int]int{}
		cover := func(r frame.Rect) {
			if r.W < 0 || r.H < 0 {
				t.Fatalf("negative area %+v", r)
			}
			for y := range r.H {
				for x := range r.W {
					covered[[2]int{r.X + x, r.Y + y}]++
				}
			}
		}
		for _, p := range tiling.Panes {
			cover(p.Area)
		}
		for _, l := range tiling.Lines {
			cover(l.Area)
		}
		if len(covered) != area.W*area.H {
			t.Fatalf("%d cells covered, the area has %d", len(covered), area.W*area.H)
		}
		for cell, n := range covered {
			if n != 1 || !area.Contains(cell[0], cell[1]) {
				t.Fatalf("cell %v covered %d times", cell, n)
			}
		}
	})
}

func TestEveryPaneKeepsRoomWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	tree := layout.Leaf(1).Split(1, layout.Right, 2).Split(2, layout.Down, 3)
	for range 50 {
		tree = tree.MoveEdge(1, layout.Right, 100)
	}
	for _, p := range layout.Tile(tree, frame.Rect{W: 80, H: 24}).Panes {
		if p.Area.Empty() {
			t.Errorf("pane %d has no room left", p.Pane)
		}
	}
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	// 1 | 2
	//   | 3
	tree := layout.Leaf(1).Split(1, layout.Right, 2).Split(2, layout.Down, 3)
	tiling := layout.Tile(tree, frame.Rect{W: 81, H: 24})
	for _, c := range []struct {
		from layout.ID
		dir  layout.Direction
		want layout.ID
	}{
		{1, layout.Right, 2}, {2, layout.Left, 1}, {3, layout.Left, 1},
		{2, layout.Down, 3}, {3, layout.Up, 2}, {1, layout.Left, 0}, {1, layout.Up, 0},
	} {
		if got, _ := tiling.Neighbour(c.from, c.dir); got != c.want {
			t.Errorf("neighbour of %d in direction %d = %d, want %d", c.from, c.dir, got, c.want)
		}
	}
}

func TestRemoveAndSwap(t *testing.T) {
	t.Parallel()
	tree := layout.Leaf(1).Split(1, layout.Right, 2).Split(2, layout.Down, 3)
	if got := tree.Swap(1, 3).Panes(); got[0] != 3 || got[1] != 2 || got[2] != 1 {
		t.Errorf("swapped order = %v", got)
	}
	if got := tree.Remove(2).Panes(); len(got) != 2 || got[1] != 3 {
		t.Errorf("after removal = %v", got)
	}
	if tree.Remove(1).Remove(2).Remove(3) != nil {
		t.Error("a tree without panes is not empty")
	}
}

func TestMoveEdgeFollowsTheDirection(t *testing.T) {
	t.Parallel()
	area := frame.Rect{W: 91, H: 24}
	tree := layout.Leaf(1).Split(1, layout.Right, 2).Split(2, layout.Right, 3)
	edge := func(n *layout.Node, i int) int { return layout.Tile(n, area).Lines[i].Area.X }
	for name, c := range map[string]struct {
		pane layout.ID
		line int
	}{"right edge of the first": {1, 0}, "right edge of the middle": {2, 1}, "left edge of the last": {3, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := edge(tree.MoveEdge(c.pane, layout.Right, 100), c.line); got <= edge(tree, c.line) {
				t.Errorf("moved right: line at %d, was at %d", got, edge(tree, c.line))
			}
			if got := edge(tree.MoveEdge(c.pane, layout.Left, 100), c.line); got >= edge(tree, c.line) {
				t.Errorf("moved left: line at %d, was at %d", got, edge(tree, c.line))
			}
		})
	}
}

func TestEveryLineIsMovedByItsLeftPane(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree, _ := grow(t)
		area := frame.Rect{W: 200, H: 50}
		before := layout.Tile(tree, area)
		for i, l := range before.Lines {
			after := layout.Tile(tree.MoveEdge(l.Left, layout.Left, 0), area)
			if after.Lines[i] != l {
				t.Fatalf("moving line %d by nothing moved it", i)
			}
		}
	})
}
