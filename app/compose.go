package app

import (
	"fmt"
	"time"

	"lazaret.dev/lazaret/app/layout"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/help"
	"lazaret.dev/lazaret/views/messages"
	paneview "lazaret.dev/lazaret/views/pane"
)

// The smallest screen the dashboard is drawn on; below it says so instead.
const (
	minWidth  = 24
	minHeight = 5
)

// Frame composes the picture of the dashboard as it is now. It changes nothing.
func (m *Model) Frame() *frame.Grid {
	now := time.Now()
	g := m.blank()
	c := views.Canvas{Grid: g, Theme: m.opt.Theme, Area: frame.Rect{W: m.out.w, H: m.out.h}}
	if m.out.w < minWidth || m.out.h < minHeight {
		c.Fill(themes.Text)
		c.Text(0, 0, "too small", themes.Text)
		return g
	}
	m.drawPanes(c, now)
	over := m.overArea(c)
	for _, o := range m.over {
		g.Cursor = frame.Cursor{}
		o.Draw(over)
	}
	if m.in.leader && now.Sub(m.in.armedAt) >= whichKeyTime {
		g.Cursor = frame.Cursor{}
		help.DrawWhichKey(c.Sub(m.panesArea()), m.opt.Leader, m.leaderTable())
	}
	m.drawDock(c.Sub(frame.Rect{Y: m.out.h - 1, W: m.out.w, H: 1}), now)
	return g
}

// blank returns a blank grid of the screen's size, one that is no longer shown if
// there is one: pictures are large, and collecting them would cost more than
// drawing them.
func (m *Model) blank() *frame.Grid {
	if g := m.opt.Screen.Spare(); g != nil && g.W == m.out.w && g.H == m.out.h {
		g.Fill(frame.Rect{W: g.W, H: g.H}, frame.Style{})
		g.Cursor = frame.Cursor{}
		return g
	}
	return frame.NewGrid(m.out.w, m.out.h)
}

// panesArea is everything above the bottom line.
func (m *Model) panesArea() frame.Rect { return frame.Rect{W: m.out.w, H: max(0, m.out.h-1)} }

// overArea is where views over the panes are drawn.
func (m *Model) overArea(c views.Canvas) views.Canvas {
	const widest, highest, margin = 112, 40, 24
	area, w := m.panesArea(), widest
	if area.W < widest+margin {
		w = area.W // slivers of the panes at the sides tell nobody anything
	}
	return c.Sub(area).Centered(w, highest)
}

func (m *Model) drawPanes(c views.Canvas, now time.Time) {
	if len(m.tiling.Panes) == 0 {
		m.drawEmpty(c.Sub(m.panesArea()))
		return
	}
	ids := m.tree.Panes()
	for _, placed := range m.tiling.Panes {
		if p := m.panes[views.PaneID(placed.Pane)]; p != nil {
			v := m.paneView(p, ids, now)
			v.Draw(c.Sub(placed.Area))
		}
	}
	focus, _ := m.tiling.Area(layout.ID(m.focus))
	for _, l := range m.tiling.Lines {
		k := themes.Border
		if l.Area.X == focus.X+focus.W || l.Area.X+1 == focus.X {
			k = themes.BorderFocused
		}
		for y := range l.Area.H {
			if l.Area.W > 0 {
				c.Text(l.Area.X, l.Area.Y+y, "│", k)
			}
		}
	}
}

func (m *Model) paneView(p *pane, order []layout.ID, now time.Time) paneview.View {
	v := paneview.View{
		Info: m.info(p), Focused: p.id == m.focus, Zoomed: m.zoomed, Copy: p.copy,
		Steps: p.steps, Error: p.err, Fix: p.fix, Armed: p.guard.Armed(now), Dead: m.keys[tableDead],
	}
	for i, id := range order {
		if views.PaneID(id) == p.id {
			v.Number = i + 1
		}
	}
	if p.state != views.PaneOpening && p.state != views.PaneFailed {
		v.Screen, v.Above = p.shown.grid, p.shown.above
	}
	return v
}

func (m *Model) drawEmpty(c views.Canvas) {
	c.Fill(themes.Text)
	in := c.Centered(52, 7)
	in.Text(0, 0, "Lazaret", themes.Strong)
	in.Text(0, 2, "No session is open in this dashboard.", themes.Text)
	in.Line(0, 4, views.Span{Text: "n", Token: themes.Key}, views.Span{Text: " new session   ", Token: themes.Text},
		views.Span{Text: "?", Token: themes.Key}, views.Span{Text: " help   ", Token: themes.Text},
		views.Span{Text: "q", Token: themes.Key}, views.Span{Text: " quit", Token: themes.Text})
}

// drawDock draws the bottom line: what waits, then the freshest message or where
// help is. It is the same in every view.
func (m *Model) drawDock(c views.Canvas, now time.Time) {
	c.Fill(themes.Dock)
	x := 0
	if n := len(m.waiting()); n > 0 {
		x = c.Text(0, 0, fmt.Sprintf(" ● %s: %s ", count(n, "request")+waitVerb(n), m.chord("review")), themes.DockAlert)
	}
	if msg, ok := m.msgs.shown(now); ok {
		sign, _ := messages.Sign(msg.Level)
		c.Text(x+1, 0, sign+msg.Text, themes.Dock)
		return
	}
	hint := fmt.Sprintf("%s · %s for help ", count(m.liveSessions(), "session"), m.chord("help"))
	if m.in.leader {
		hint = m.opt.Leader + " … "
	}
	if x+frame.Width(hint) < c.Area.W {
		c.Right(0, hint, themes.Dock)
	}
	if x == 0 {
		c.Text(1, 0, "nothing waits for you", themes.Dock)
	}
}

func waitVerb(n int) string {
	if n == 1 {
		return " waits"
	}
	return " wait"
}

// resize takes the size of the developer's terminal.
func (m *Model) resize(w, h int) {
	m.out.w, m.out.h = w, h
	m.arrange()
	for _, o := range m.over {
		m.sizeOver(o)
	}
	m.redraw()
}

// arrange places the panes and tells each session the size of its place.
func (m *Model) arrange() {
	tree := m.tree
	if m.zoomed && m.panes[m.focus] != nil {
		tree = layout.Leaf(layout.ID(m.focus))
	}
	m.tiling = layout.Tile(tree, m.panesArea())
	for _, placed := range m.tiling.Panes {
		if p := m.panes[views.PaneID(placed.Pane)]; p != nil {
			m.fit(p)
		}
	}
}

// watchFrozen looks again when a program's synchronized update, which holds its
// picture, has to have ended.
func (m *Model) watchFrozen() {
	const deadline = 210 * time.Millisecond // above the emulator's own
	for _, placed := range m.tiling.Panes {
		p := m.panes[views.PaneID(placed.Pane)]
		if p != nil && p.state.Live() && p.shown.held {
			m.wake(deadline)
			return
		}
	}
}
