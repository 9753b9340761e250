package frame_test

import (
	"testing"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/internal/frame"
)

// scribble draws wide and narrow glyphs all over a grid.
func scribble(t *rapid.T, g *frame.Grid) {
	for range rapid.IntRange(0, 30).Draw(t, "glyphs") {
		c := frame.Cell{Text: "x", Width: 1}
		if rapid.Bool().Draw(t, "wide") {
			c = frame.Cell{Text: "日", Width: 2}
		}
		g.Set(rapid.IntRange(-1, g.W).Draw(t, "x"), rapid.IntRange(-1, g.H).Draw(t, "y"), c)
	}
}

// whole fails when half a wide glyph is left somewhere.
func whole(t *rapid.T, g *frame.Grid) {
	for y := range g.H {
		for x := range g.W {
			c := g.At(x, y)
			switch {
			case c.Width == 2 && (x+1 >= g.W || g.At(x+1, y).Width != 0):
				t.Fatalf("the glyph at %d,%d has lost its right half", x, y)
			case c.Width == 0 && (x == 0 || g.At(x-1, y).Width != 2):
				t.Fatalf("the right half at %d,%d has lost its glyph", x, y)
			}
		}
	}
}

// Copying row by row shows what copying cell by cell shows.
func TestDrawAndFillCutNoGlyph(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 12)
		fast := frame.NewGrid(size.Draw(t, "w"), size.Draw(t, "h"))
		scribble(t, fast)
		slow := frame.NewGrid(fast.W, fast.H)
		copy(slow.Cells, fast.Cells)
		src := frame.NewGrid(size.Draw(t, "sw"), size.Draw(t, "sh"))
		scribble(t, src)
		pos := rapid.IntRange(-3, 12)
		x, y := pos.Draw(t, "dx"), pos.Draw(t, "dy")
		r := frame.Rect{X: pos.Draw(t, "rx"), Y: pos.Draw(t, "ry"), W: size.Draw(t, "rw"), H: size.Draw(t, "rh")}
		fast.Draw(x, y, src, r)
		for dy := range r.H {
			for dx := range r.W {
				slow.Set(x+dx, y+dy, src.At(r.X+dx, r.Y+dy))
			}
		}
		whole(t, fast)
		if fast.String() != slow.String() {
			t.Fatalf("drawn at once:\n%s\ncell by cell:\n%s", fast, slow)
		}
		fast.Fill(r, frame.Style{Attr: frame.Bold})
		whole(t, fast)
		for yy := range fast.H {
			for xx := range fast.W {
				if r.Contains(xx, yy) && fast.At(xx, yy) != frame.Blank(frame.Style{Attr: frame.Bold}) {
					t.Fatalf("cell %d,%d of the filled area holds %+v", xx, yy, fast.At(xx, yy))
				}
			}
		}
	})
}
