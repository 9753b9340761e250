package pane

import (
	"fmt"
	"strings"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// View is one pane as it is to be drawn.
type View struct {
	Info    views.PaneInfo
	Number  int // its place on the screen from 1, for leader+number
	Focused bool
	Zoomed  bool
	Screen  *frame.Grid // the program's screen; nil before it runs
	Above   int         // lines the view is scrolled up; 0 is live
	Copy    *Copy       // set while in copy mode

	Steps []Step // of the launch, in order
	Error string // why it could not be opened
	Fix   string // what to do about it
	Armed bool   // a dead pane takes its keys
	Dead  views.Table
}

// key is the key of a dead pane's action.
func (v *View) key(action string) string {
	row, _ := v.Dead.Named(action)
	return row.Key()
}

// Step is one step of a launch.
type Step struct {
	Name string
	Done bool
}

// DeadTable are the keys of a pane whose session has ended. They wait for a pause,
// because the developer may still be typing into the program that just ended.
func DeadTable() views.Table {
	return views.Table{Context: "ended pane", Rows: []views.Binding{
		{Action: "pane-restart", Keys: []string{"r"}, Help: "start the session again"},
		{Action: "pane-dismiss", Keys: []string{"x", "enter"}, Help: "close the pane"},
	}}
}

// Content returns the part of a pane's area that is the program's.
func Content(area frame.Rect) frame.Rect {
	return frame.Rect{X: area.X, Y: area.Y + 1, W: area.W, H: max(0, area.H-1)}
}

// Draw draws the pane over the canvas.
func (v *View) Draw(c views.Canvas) {
	if c.Area.Empty() {
		return
	}
	v.drawTitle(c.Sub(frame.Rect{W: c.Area.W, H: 1}))
	body := c.Sub(frame.Rect{Y: 1, W: c.Area.W, H: c.Area.H - 1})
	if body.Area.Empty() {
		return
	}
	switch v.Info.State {
	case views.PaneOpening:
		v.drawOpening(body)
	case views.PaneFailed:
		v.drawFailed(body)
	default:
		v.drawScreen(body)
	}
}

func (v *View) drawTitle(c views.Canvas) {
	k := themes.Title
	if v.Focused {
		k = themes.TitleFocused
	}
	c.Fill(k)
	right := v.status()
	room := c.Area.W
	if w := frame.Width(right); w+8 < room {
		c.Right(0, right, k)
		room -= w + 1
	}
	if need := fmt.Sprintf(" ● needs you: %d ", v.Info.Pending); v.Info.Pending > 0 && frame.Width(need) < room {
		room -= frame.Width(need)
		c.Text(room, 0, need, themes.DockAlert)
		room--
	}
	mark := " "
	if v.Focused {
		mark = "▶"
	}
	left := c.Sub(frame.Rect{W: room, H: 1})
	what := v.Info.Profile
	if v.Info.Branch != "" {
		what += " · " + v.Info.Branch
	}
	left.Text(0, 0, fmt.Sprintf("%s%d %s · %s", mark, v.Number, what, v.Info.Title), k)
}

// status is the right part of the title bar: signs and words, so that it reads
// the same without colour.
func (v *View) status() string {
	var parts []string
	if v.Info.Bell {
		parts = append(parts, "♪ bell")
	}
	switch {
	case v.Copy != nil:
		parts = append(parts, "copy mode")
	case v.Above > 0:
		parts = append(parts, fmt.Sprintf("↑%d lines", v.Above))
	}
	if v.Zoomed {
		parts = append(parts, "zoomed")
	}
	state := v.Info.State.String()
	if v.Info.State == views.PaneExited && v.Info.Detail != "" {
		state += " " + v.Info.Detail
	}
	return strings.Join(append(parts, state), " · ") + " "
}

func (v *View) drawScreen(c views.Canvas) {
	bottom, first := c.Area.H, 0
	dead := !v.Info.State.Live()
	if dead {
		bottom--
		first = v.lowest() - bottom + 1
	}
	if v.Screen != nil {
		first = max(0, first)
		c.Grid.Draw(c.Area.X, c.Area.Y, v.Screen, frame.Rect{Y: first, W: min(c.Area.W, v.Screen.W), H: min(bottom, v.Screen.H-first)})
	}
	if v.Copy != nil {
		v.Copy.Draw(c)
		return
	}
	if dead {
		v.drawDead(c.Sub(frame.Rect{Y: bottom, W: c.Area.W, H: 1}))
		return
	}
	if cur := v.cursor(); v.Focused && v.Above == 0 && cur.Visible && cur.X < c.Area.W && cur.Y < c.Area.H {
		c.Cursor(cur.X, cur.Y)
		c.Grid.Cursor.Shape = cur.Shape
	}
}

// lowest returns the last row of the screen that shows something, so that the line
// about the end of a session never hides the session's last words.
func (v *View) lowest() int {
	if v.Screen == nil {
		return -1
	}
	for y := v.Screen.H - 1; y >= 0; y-- {
		for x := range v.Screen.W {
			if t := v.Screen.At(x, y).Text; t != "" && t != " " {
				return y
			}
		}
	}
	return -1
}

func (v *View) cursor() frame.Cursor {
	if v.Screen == nil {
		return frame.Cursor{}
	}
	return v.Screen.Cursor
}

func (v *View) drawDead(c views.Canvas) {
	c.Fill(themes.DockAlert)
	what := "session ended"
	switch v.Info.State {
	case views.PaneExited:
		what = "exited with status " + v.Info.Detail
	case views.PaneLost:
		what = "lost: " + v.Info.Detail
	}
	hint := ""
	if v.Focused && v.Armed {
		hint = " — " + v.key("pane-restart") + " start again · " + v.key("pane-dismiss") + " close"
	}
	c.Text(0, 0, " "+what+hint, themes.DockAlert)
}

func (v *View) drawOpening(c views.Canvas) {
	c.Fill(themes.Text)
	c.Text(1, 1, "Opening "+v.Info.Profile, themes.Strong)
	y := 3
	for _, s := range tail(v.Steps, c.Area.H-4) {
		sign, k := "·", themes.Accent
		if s.Done {
			sign, k = "✓", themes.Success
		}
		c.Line(1, y, views.Span{Text: sign + " ", Token: k}, views.Span{Text: s.Name, Token: themes.Text})
		y++
	}
}

func tail(steps []Step, n int) []Step {
	return steps[max(0, len(steps)-max(1, n)):]
}

func (v *View) drawFailed(c views.Canvas) {
	c.Fill(themes.Text)
	c.Text(1, 1, "✗ "+v.Info.Profile+" was not started", themes.Danger)
	y := 3
	put := func(text string, k themes.Token) {
		for _, line := range views.Wrap(text, c.Area.W-2) {
			c.Text(1, y, line, k)
			y++
		}
	}
	put(v.Error, themes.Text)
	if v.Fix != "" {
		y++
		put("Fix: "+v.Fix, themes.Accent)
	}
	if v.Armed {
		c.Line(1, y+1, views.Span{Text: v.key("pane-restart"), Token: themes.Key}, views.Span{Text: " try again   ", Token: themes.Text},
			views.Span{Text: v.key("pane-dismiss"), Token: themes.Key}, views.Span{Text: " close the pane", Token: themes.Text})
	}
}
