package views

import (
	"strings"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
)

// Canvas is an area of the next frame and the theme to draw it in.
type Canvas struct {
	Grid  *frame.Grid
	Theme themes.Theme
	Area  frame.Rect
}

// Sub returns the canvas of an area given in the canvas's own coordinates, cut to it.
func (c Canvas) Sub(r frame.Rect) Canvas {
	x, y := max(0, r.X), max(0, r.Y)
	c.Area = frame.Rect{
		X: c.Area.X + x, Y: c.Area.Y + y,
		W: max(0, min(r.W-(x-r.X), c.Area.W-x)), H: max(0, min(r.H-(y-r.Y), c.Area.H-y)),
	}
	return c
}

// Fill blanks the canvas.
func (c Canvas) Fill(k themes.Token) { c.Grid.Fill(c.Area, c.Theme.Style(k)) }

// Text draws s at x, y and returns the cells used; what does not fit is cut off,
// with an ellipsis.
func (c Canvas) Text(x, y int, s string, k themes.Token) int {
	if y < 0 || y >= c.Area.H || x < 0 || x >= c.Area.W {
		return 0
	}
	room := c.Area.W - x
	if frame.Width(s) <= room {
		return c.Grid.Text(c.Area.X+x, c.Area.Y+y, room, s, c.Theme.Style(k))
	}
	n := c.Grid.Text(c.Area.X+x, c.Area.Y+y, room-1, s, c.Theme.Style(k))
	return n + c.Grid.Text(c.Area.X+x+n, c.Area.Y+y, 1, "…", c.Theme.Style(k))
}

// Right draws s so that it ends at the right edge, and returns where it begins.
func (c Canvas) Right(y int, s string, k themes.Token) int {
	x := max(0, c.Area.W-frame.Width(s))
	c.Text(x, y, s, k)
	return x
}

// Line draws spans one after another.
func (c Canvas) Line(x, y int, spans ...Span) int {
	start := x
	for _, s := range spans {
		x += c.Text(x, y, s.Text, s.Token)
	}
	return x - start
}

// Cursor puts the terminal's cursor at x, y.
func (c Canvas) Cursor(x, y int) {
	if x >= 0 && y >= 0 && x < c.Area.W && y < c.Area.H {
		c.Grid.Cursor = frame.Cursor{X: c.Area.X + x, Y: c.Area.Y + y, Visible: true}
	}
}

// Box draws a frame around the canvas with a title in its top line and a hint in
// its bottom line, and returns the canvas inside.
func (c Canvas) Box(title, hint string, k themes.Token) Canvas {
	c.Fill(themes.Text)
	w, h := c.Area.W, c.Area.H
	if w < 4 || h < 3 {
		return c
	}
	bar := strings.Repeat("─", w-2)
	c.Text(0, 0, "╭"+bar+"╮", k)
	c.Text(0, h-1, "╰"+bar+"╯", k)
	for y := 1; y < h-1; y++ {
		c.Text(0, y, "│", k)
		c.Text(w-1, y, "│", k)
	}
	edge := c.Sub(frame.Rect{X: 2, Y: 0, W: w - 4, H: h})
	if title != "" {
		edge.Text(0, 0, " "+title+" ", themes.Strong)
	}
	if hint != "" {
		edge.Text(0, h-1, " "+hint+" ", themes.Muted)
	}
	return c.Sub(frame.Rect{X: 2, Y: 1, W: w - 4, H: h - 2})
}

// Centered returns the canvas of a box of at most w by h in the middle.
func (c Canvas) Centered(w, h int) Canvas {
	w, h = min(w, c.Area.W), min(h, c.Area.H)
	return c.Sub(frame.Rect{X: (c.Area.W - w) / 2, Y: (c.Area.H - h) / 2, W: w, H: h})
}

// Span is text in one look.
type Span struct {
	Text  string
	Token themes.Token
}
