package app

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/app/layout"
	"lazaret.dev/lazaret/internal/input"
	"lazaret.dev/lazaret/views"
)

// do gives an action of a view its meaning.
func (m *Model) do(act views.Action) {
	switch act := act.(type) {
	case nil:
	case views.Close:
		m.pop()
	case views.Open:
		m.openView(act.View)
	case views.StartSession:
		m.startSession(act)
	case views.FocusPane:
		m.over = nil
		m.setFocus(act.Pane)
		m.rezoom()
	case views.ClosePane:
		m.closePane(act.Pane)
	case views.EndSession:
		m.pop()
		m.endSession(act.Pane)
	case views.RestartPane:
		if p := m.panes[act.Pane]; p != nil && !p.state.Live() {
			m.open(p)
		}
	case views.Copy:
		m.copyOut(act.Text)
	case views.Review:
		m.openCard(act.Request)
	case views.Decide:
		m.decide(act)
	case views.Confirm:
		m.confirm(act)
	case views.Notify:
		m.notify(views.Info, act.Text)
	case views.ShowChanges:
		m.showChanges(act.Domain)
	case views.Looked:
		m.markLooked(act)
	case views.Quit:
		m.quit()
	case views.Leave:
		m.pop()
		m.leave()
	}
	m.redraw()
}

// leaderAction performs a row of the leader's table.
func (m *Model) leaderAction(action string) {
	if act, ok := leaderViews[action]; ok {
		m.do(act)
		return
	}
	if dir, ok := focusDirections[action]; ok {
		m.focusToward(dir)
		return
	}
	if dir, ok := growDirections[action]; ok {
		m.grow(dir)
		return
	}
	if f, ok := leaderActions[action]; ok {
		f(m)
	}
}

// leaderViews are the rows that only open something.
var leaderViews = map[string]views.Action{
	"new-session": views.Open{View: views.ViewStart},
	"inbox":       views.Open{View: views.ViewInbox},
	"fleet":       views.Open{View: views.ViewFleet},
	"status":      views.Open{View: views.ViewStatus},
	"messages":    views.Open{View: views.ViewMessages},
	"help":        views.Open{View: views.ViewHelp},
	"quit":        views.Quit{},
}

var focusDirections = map[string]layout.Direction{
	"focus-left": layout.Left, "focus-right": layout.Right, "focus-up": layout.Up, "focus-down": layout.Down,
}

var growDirections = map[string]layout.Direction{
	"grow-left": layout.Left, "grow-right": layout.Right, "grow-up": layout.Up, "grow-down": layout.Down,
}

var leaderActions = map[string]func(*Model){
	"split-right": func(m *Model) { m.splitPane(layout.Right) },
	"split-down":  func(m *Model) { m.splitPane(layout.Down) },
	"focus-next":  func(m *Model) { m.focusStep(1) },
	"focus-last":  func(m *Model) { m.do(views.FocusPane{Pane: m.before}) },
	"swap":        (*Model).swapNext,
	"zoom":        (*Model).zoom,
	"close":       func(m *Model) { m.do(views.ClosePane{Pane: m.focus}) },
	"copy-mode":   func(m *Model) { m.enterCopy(m.focused()) },
	"scroll-up":   func(m *Model) { p := m.focused(); m.scroll(p, 1-int(p.size.Rows)) },
	"scroll-down": func(m *Model) { p := m.focused(); m.scroll(p, int(p.size.Rows)-1) },
	"paste":       (*Model).pasteOwn,
	"accept-clip": func(m *Model) { m.copyOut(m.in.offered); m.in.offered = "" },
	"review":      func(m *Model) { m.openCard(m.waiting()[0].pending.Request.ID) },
	"suspend":     (*Model).suspend,
}

func (m *Model) splitPane(dir layout.Direction) {
	p := m.focused()
	m.over = nil
	m.openPane(p.req.Profile, p.req.Argv, dir)
}

func (m *Model) startSession(act views.StartSession) {
	argv, err := splitWords(act.Command)
	if err != nil {
		m.notify(views.Warning, "the command cannot be read: "+err.Error())
		return
	}
	m.over = nil
	m.openPane(act.Profile, argv, 0)
}

func (m *Model) focusToward(dir layout.Direction) {
	if m.zoomed {
		m.zoom()
	}
	if id, ok := m.tiling.Neighbour(layout.ID(m.focus), dir); ok {
		m.setFocus(views.PaneID(id))
	}
}

func (m *Model) focusStep(by int) {
	ids := m.tree.Panes()
	for i, id := range ids {
		if views.PaneID(id) == m.focus {
			next := views.PaneID(ids[(i+by+len(ids))%len(ids)])
			m.setFocus(next)
			m.rezoom()
			return
		}
	}
}

func (m *Model) focusNumber(n int) {
	ids := m.tree.Panes()
	if n > len(ids) {
		m.notify(views.Info, fmt.Sprintf("there is no pane %d", n))
		return
	}
	m.do(views.FocusPane{Pane: views.PaneID(ids[n-1])})
}

// rezoom keeps what has the keyboard visible: the zoom moves with the focus.
func (m *Model) rezoom() {
	if m.zoomed {
		m.arrange()
	}
}

// grow moves an edge of the focused pane.
func (m *Model) grow(dir layout.Direction) {
	const step = 50
	m.tree = m.tree.MoveEdge(layout.ID(m.focus), dir, step)
	m.arrange()
	m.redraw()
}

func (m *Model) swapNext() {
	ids := m.tree.Panes()
	for i, id := range ids {
		if views.PaneID(id) == m.focus {
			m.tree = m.tree.Swap(id, ids[(i+1)%len(ids)])
			m.arrange()
			m.redraw()
			return
		}
	}
}

func (m *Model) zoom() {
	m.zoomed = !m.zoomed
	m.arrange()
	m.redraw()
}

func (m *Model) pasteOwn() {
	if p := m.focused(); p != nil && p.state.Live() && len(m.over) == 0 {
		m.live(p)
		m.send(p, input.Event{Kind: input.Paste, Text: []byte(m.in.clip), Size: len(m.in.clip)})
	}
}

// closePane closes a pane: at once when its session is over, after a question when
// it still runs.
func (m *Model) closePane(id views.PaneID) {
	p := m.panes[id]
	switch {
	case p == nil:
	case p.state == views.PaneClosing:
		m.notify(views.Info, "the session is being ended: hangup, terminate, then kill")
	case p.state == views.PaneRunning:
		m.confirm(views.Confirm{
			Question: "End the session in this pane?",
			Detail:   m.info(p).Title + " is hung up, then terminated, then killed, with everything it started.",
			Yes:      "end the session",
			Then:     views.EndSession{Pane: id},
		})
	default:
		m.removePane(p)
	}
}

func (m *Model) endSession(id views.PaneID) {
	p := m.panes[id]
	if p == nil || p.state != views.PaneRunning {
		return
	}
	p.state, p.closing = views.PaneClosing, true
	att := p.att
	m.command(func() tea.Msg {
		_ = att.End() // a connection that is gone is reported by its Lost event
		return nil
	})
}

func (m *Model) liveSessions() int {
	n := 0
	for _, p := range m.panes {
		if p.state.Live() {
			n++
		}
	}
	return n
}

// quit leaves, after a question when sessions run; asked again it leaves at once.
func (m *Model) quit() {
	n := m.liveSessions()
	switch {
	case m.end.asked:
		m.leaveNow()
	case n == 0:
		m.leaveNow()
	default:
		m.confirm(views.Confirm{
			Question: fmt.Sprintf("Quit and end %s?", count(n, "session")),
			Detail:   "Sessions end with the dashboard; what they wrote stays in the workspace and the State Anchor.",
			Yes:      "quit",
			Then:     views.Leave{},
		})
	}
}

// leaveTime is how long quitting waits for the close ladders; the coordinators
// finish them without us.
const leaveTime = 5 * time.Second

// leave ends every session, and then the dashboard.
func (m *Model) leave() {
	m.end.asked = true
	for _, p := range m.panes {
		switch p.state {
		case views.PaneRunning:
			m.endSession(p.id)
		case views.PaneOpening:
			m.removePane(p)
		}
	}
	m.notify(views.Info, "ending the sessions; quit again to leave at once")
	m.after(leaveTime, leaveMsg{})
	m.leaveWhenEmpty()
}

func (m *Model) leaveWhenEmpty() {
	if m.end.asked && m.liveSessions() == 0 {
		m.leaveNow()
	}
}

// leaveNow ends the loop. Connections still open are dropped, which the
// coordinators take as the end of their sessions.
func (m *Model) leaveNow() {
	if m.end.done {
		return
	}
	m.end.done = true
	m.cancel()
	for _, p := range m.panes {
		if p.att != nil {
			att := p.att
			m.command(func() tea.Msg { _ = att.Close(); return nil })
		}
	}
	m.out.cmds = append(m.out.cmds, tea.Quit)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
