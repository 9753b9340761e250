package pane

import (
	"strings"

	"github.com/rivo/uniseg"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/field"
)

// Text is the history and screen of a pane as lines; 0 is the oldest.
type Text interface {
	Len() int
	Line(n int) string
}

// Copy is copy mode: a cursor over a pane's lines that a running program does not
// move. Positions are lines of Text and cells of a line.
type Copy struct {
	text          Text
	line, col     int
	top, w, h     int
	marking       marking
	fromL, fromC  int
	search        *field.Field
	query, status string
}

type marking uint8

const (
	markNothing marking = iota
	markRegion
	markLines
)

// CopyTable are the keys of copy mode.
func CopyTable() views.Table {
	return views.Table{Context: "copy mode", Rows: []views.Binding{
		{Action: "copy-leave", Keys: []string{"q", "esc"}, Help: "leave copy mode"},
		{Action: "copy-up", Keys: []string{"up", "k"}, Help: "one line up"},
		{Action: "copy-down", Keys: []string{"down", "j"}, Help: "one line down"},
		{Action: "copy-left", Keys: []string{"left", "h"}, Help: "one cell left"},
		{Action: "copy-right", Keys: []string{"right", "l"}, Help: "one cell right"},
		{Action: "copy-page-up", Keys: []string{"pgup", "ctrl+b", "ctrl+u"}, Help: "one page up"},
		{Action: "copy-page-down", Keys: []string{"pgdown", "ctrl+f", "ctrl+d"}, Help: "one page down"},
		{Action: "copy-top", Keys: []string{"g", "home"}, Help: "oldest line"},
		{Action: "copy-bottom", Keys: []string{"G", "end"}, Help: "newest line"},
		{Action: "copy-line-start", Keys: []string{"0"}, Help: "start of the line"},
		{Action: "copy-line-end", Keys: []string{"$"}, Help: "end of the line"},
		{Action: "copy-region", Keys: []string{"v", "space"}, Help: "select from here, or stop selecting"},
		{Action: "copy-lines", Keys: []string{"V"}, Help: "select whole lines"},
		{Action: "copy-take", Keys: []string{"y", "enter"}, Help: "copy the selection, or the line, and leave"},
		{Action: "copy-search", Keys: []string{"/"}, Help: "search upwards"},
		{Action: "copy-next", Keys: []string{"n"}, Help: "next match upwards"},
		{Action: "copy-previous", Keys: []string{"N"}, Help: "next match downwards"},
	}}
}

// NewCopy starts copy mode with a window of w by h cells whose first line is top.
func NewCopy(text Text, top, w, h int) *Copy {
	c := &Copy{text: text, top: top, line: top + h - 1}
	c.SetSize(w, h)
	return c
}

// Top returns the first line in the window.
func (c *Copy) Top() int { return c.top }

// SetSize says how large the window is.
func (c *Copy) SetSize(w, h int) {
	c.w, c.h = max(1, w), max(1, h)
	c.clamp()
}

// Point moves the cursor to a cell of the window; with mark it selects from where
// it was first called with mark.
func (c *Copy) Point(x, y int, mark bool) {
	if mark && c.marking == markNothing {
		c.mark(markRegion)
	}
	c.line, c.col = c.top+y, x
	c.clamp()
}

// Selecting reports whether a selection has begun.
func (c *Copy) Selecting() bool { return c.marking != markNothing }

// Scroll moves the window and the cursor with it.
func (c *Copy) Scroll(by int) {
	c.top += by
	c.line += by
	c.clamp()
}

// Key handles a key of copy mode.
func (c *Copy) Key(k views.Key, table views.Table) views.Action {
	if c.search != nil {
		c.searchKey(k)
		return nil
	}
	row, ok := table.Find(k.Chord)
	if !ok {
		return nil
	}
	switch row.Action {
	case "copy-leave":
		return views.Close{}
	case "copy-take":
		return views.Copy{Text: c.Selection()}
	case "copy-region":
		c.toggle(markRegion)
	case "copy-lines":
		c.toggle(markLines)
	case "copy-search":
		f := field.New("", 200)
		c.search = &f
	case "copy-next":
		c.find(-1)
	case "copy-previous":
		c.find(1)
	default:
		c.move(row.Action)
	}
	return nil
}

func (c *Copy) move(action string) {
	switch action {
	case "copy-up":
		c.line--
	case "copy-down":
		c.line++
	case "copy-left":
		c.col--
	case "copy-right":
		c.col++
	case "copy-page-up":
		c.Scroll(1 - c.h)
	case "copy-page-down":
		c.Scroll(c.h - 1)
	case "copy-top":
		c.line = 0
	case "copy-bottom":
		c.line = c.text.Len() - 1
	case "copy-line-start":
		c.col = 0
	case "copy-line-end":
		c.col = max(0, frame.Width(strings.TrimRight(c.text.Line(c.line), " "))-1)
	}
	c.clamp()
}

func (c *Copy) mark(m marking) { c.marking, c.fromL, c.fromC = m, c.line, c.col }

func (c *Copy) toggle(m marking) {
	if c.marking == m {
		c.marking = markNothing
		return
	}
	if c.marking == markNothing {
		c.mark(m)
	}
	c.marking = m
}

func (c *Copy) clamp() {
	n := max(1, c.text.Len())
	c.line = max(0, min(c.line, n-1))
	c.col = max(0, min(c.col, c.w-1))
	c.top = min(c.top, c.line)
	c.top = max(c.top, c.line-c.h+1)
	c.top = max(0, min(c.top, max(0, n-c.h)))
}

func (c *Copy) searchKey(k views.Key) {
	switch k.Chord {
	case "esc":
		c.search = nil
	case "enter":
		c.query, c.search = c.search.Text(), nil
		c.find(-1)
	default:
		c.search.Key(k)
	}
}

// find moves to the next line in a direction that holds the query.
func (c *Copy) find(step int) {
	c.status = ""
	if c.query == "" {
		return
	}
	for n := c.line + step; n >= 0 && n < c.text.Len(); n += step {
		if i := strings.Index(c.text.Line(n), c.query); i >= 0 {
			c.line, c.col = n, frame.Width(c.text.Line(n)[:i])
			c.clamp()
			return
		}
	}
	c.status = "no further match"
}

// bounds returns the selection's first and last line and cell, in order.
func (c *Copy) bounds() (l1, c1, l2, c2 int) {
	l1, c1, l2, c2 = c.fromL, c.fromC, c.line, c.col
	if c.marking == markNothing {
		return c.line, 0, c.line, c.w
	}
	if l1 > l2 || l1 == l2 && c1 > c2 {
		l1, c1, l2, c2 = l2, c2, l1, c1
	}
	if c.marking == markLines {
		c1, c2 = 0, c.w
	}
	return l1, c1, l2, c2
}

// Selection returns the selected text, without the blanks that only fill a line.
func (c *Copy) Selection() string {
	l1, c1, l2, c2 := c.bounds()
	var lines []string
	for n := l1; n <= min(l2, c.text.Len()-1); n++ {
		from, to := 0, c.w
		if n == l1 {
			from = c1
		}
		if n == l2 {
			to = min(c.w, c2+1)
		}
		lines = append(lines, strings.TrimRight(cells(c.text.Line(n), from, to), " "))
	}
	return strings.Join(lines, "\n")
}

// cells returns the clusters of s that lie in the cells from (included) to to.
func cells(s string, from, to int) string {
	var b strings.Builder
	x, state := 0, -1
	for s != "" && x < to {
		var cluster string
		var w int
		cluster, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if x+max(1, w) > from {
			b.WriteString(cluster)
		}
		x += w
	}
	return b.String()
}

// Draw marks the selection on a canvas that already shows the window, and puts
// the cursor and the bottom line on it.
func (c *Copy) Draw(cv views.Canvas) {
	l1, c1, l2, c2 := c.bounds()
	marked := cv.Theme.Style(themes.Marked)
	for y := range min(c.h, cv.Area.H) {
		n := c.top + y
		if c.marking == markNothing || n < l1 || n > l2 {
			continue
		}
		from, to := 0, cv.Area.W
		if n == l1 {
			from = c1
		}
		if n == l2 {
			to = min(to, c2+1)
		}
		for x := from; x < to; x++ {
			cell := cv.Grid.At(cv.Area.X+x, cv.Area.Y+y)
			cell.Style = marked
			cv.Grid.Set(cv.Area.X+x, cv.Area.Y+y, cell)
		}
	}
	cv.Cursor(c.col, c.line-c.top)
	c.drawBottom(cv)
}

func (c *Copy) drawBottom(cv views.Canvas) {
	y := cv.Area.H - 1
	if c.search != nil {
		n := cv.Text(0, y, "/", themes.Field)
		c.search.Draw(cv.Sub(frame.Rect{X: n, Y: y, W: cv.Area.W - n, H: 1}), 0, true)
		return
	}
	if c.status != "" {
		cv.Right(y, " "+c.status+" ", themes.Warning)
	}
}
