package app

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/app/layout"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/views"
	paneview "lazaret.dev/lazaret/views/pane"
)

// pane is one session on the screen, from the wish to open it until the developer
// closes it. try counts how often it was opened, so that news of an earlier try is
// not taken for the current one's.
type pane struct {
	id      views.PaneID
	req     OpenRequest
	try     int
	cancel  context.CancelFunc
	att     Attachment
	queue   *queue
	term    *terminal
	state   views.PaneState
	detail  string
	bell    bool
	closing bool // the developer asked to close it: it goes when its session has ended
	started time.Time

	top   int // first line of the view while scrolled up, -1 when live
	copy  *paneview.Copy
	guard views.Guard
	steps []paneview.Step
	err   string
	fix   string
	size  wire.Size
	shown picture
}

// openPane opens a session in a new pane beside the focused one; dir 0 chooses the
// side with more room.
func (m *Model) openPane(profile string, argv []string, dir layout.Direction) {
	m.nextID++
	p := &pane{
		id: m.nextID, top: -1,
		req: OpenRequest{Profile: profile, Workspace: m.opt.Workspace, Argv: argv},
	}
	if dir == 0 {
		dir = m.roomier()
	}
	m.panes[p.id] = p
	m.tree = m.tree.Split(layout.ID(m.focus), dir, layout.ID(p.id))
	m.zoomed = false
	m.setFocus(p.id)
	m.arrange()
	m.open(p)
}

// roomier returns the side on which a new pane gets the better shape. A cell is
// about twice as high as it is wide.
func (m *Model) roomier() layout.Direction {
	area, ok := m.tiling.Area(layout.ID(m.focus))
	if ok && area.W < 2*area.H {
		return layout.Down
	}
	return layout.Right
}

// open starts a try to open the pane's session.
func (m *Model) open(p *pane) {
	p.try++
	p.state, p.detail, p.err, p.fix = views.PaneOpening, "", "", ""
	p.steps, p.att, p.top, p.copy, p.shown = nil, nil, -1, nil, picture{}
	p.queue = newQueue()
	m.fit(p)
	p.term = newTerminal(m.opt.NewEmulator(int(p.size.Cols), int(p.size.Rows)), int(p.size.Rows))
	p.req.Size = p.size
	ctx, cancel := context.WithCancel(m.ctx)
	p.cancel = cancel
	id, try, req, send, sessions := p.id, p.try, p.req, m.opt.Send, m.opt.Sessions
	m.command(func() tea.Msg {
		att, err := sessions.Open(ctx, req, func(step string) { send(progressMsg{pane: id, try: try, step: step}) })
		return openedMsg{pane: id, try: try, att: att, err: err}
	})
	m.redraw()
}

// progress shows the step a launch has come to.
func (m *Model) progress(msg progressMsg) {
	p := m.panes[msg.pane]
	if p == nil || p.try != msg.try || p.state != views.PaneOpening {
		return
	}
	name := term.Sanitize(msg.step)
	if n := len(p.steps); n > 0 && stem(p.steps[n-1].Name) == stem(name) {
		p.steps[n-1].Name = name // the same step, further on
		m.later()
		return
	}
	for i := range p.steps {
		p.steps[i].Done = true
	}
	p.steps = append(p.steps, paneview.Step{Name: name})
	m.later()
}

// stem is what a step's name begins with before it counts something.
func stem(step string) string {
	if i := strings.IndexAny(step, "0123456789"); i > 0 {
		return step[:i]
	}
	return step
}

// opened takes the result of a try over.
func (m *Model) opened(msg openedMsg) {
	p := m.panes[msg.pane]
	if p == nil || p.try != msg.try || m.end.done {
		if msg.att != nil {
			// Nobody waits for it any more: the pane was closed meanwhile.
			m.command(func() tea.Msg { _ = msg.att.Close(); return nil })
		}
		return
	}
	m.redraw()
	if msg.err != nil {
		m.openFailed(p, msg.err)
		return
	}
	p.state, p.att, p.started = views.PaneRunning, msg.att, time.Now()
	if p.size != p.req.Size {
		p.queue.resize(p.size)
	}
	att, q, t, id, try, send := p.att, p.queue, p.term, p.id, p.try, m.opt.Send
	m.start(func() { q.run(att) })
	m.start(func() { pump(id, try, att, t, q, send) })
}

func (m *Model) openFailed(p *pane, err error) {
	p.state = views.PaneFailed
	p.err, p.fix = term.SanitizeLines(err.Error()), term.SanitizeLines(fixOf(err))
	p.guard = views.NewGuard(time.Now())
	m.wake(views.QuietTime)
	if p.closing {
		m.removePane(p)
	}
}

// fixOf finds the remedy, whether the error was made here or came over the wire.
func fixOf(err error) string {
	var refused *wire.Refused
	if errors.As(err, &refused) && refused.Fix != "" {
		return refused.Fix
	}
	return fault.FixOf(err)
}

// pump feeds a session's output to its terminal and its news to Update, in order,
// until the session is over. A slow terminal slows the session, nothing else. Until
// the program writes, the pane shows what is done before it can start, such as the
// profile's install step.
func pump(id views.PaneID, try int, att Attachment, t *terminal, q *queue, send func(tea.Msg)) {
	defer q.close()
	var before setUp
	for ev := range att.Events() {
		if line := before.line(ev); line != "" {
			t.write([]byte(line))
			if t.touch() {
				send(outputMsg{pane: id})
			}
			continue
		}
		out, ok := ev.(client.Output)
		if !ok {
			send(sessionMsg{pane: id, try: try, event: ev})
			continue
		}
		if before.over() {
			t.write([]byte(wipe))
		}
		replies, events := t.write(out.Data)
		q.push(replies)
		if len(events) > 0 {
			send(askMsg{pane: id, events: events})
		}
		if t.touch() {
			send(outputMsg{pane: id})
		}
	}
}

// paneChanged draws new output: at once when it is most likely the echo of a key,
// not at all where the pane is hidden. A hidden pane stays marked as changed, so
// it sends no further message until the next picture.
func (m *Model) paneChanged(id views.PaneID) {
	if _, visible := m.tiling.Area(layout.ID(id)); !visible {
		return
	}
	if id == m.focus && time.Since(m.in.lastKey) < echoTime {
		m.out.urgent = true
	}
	m.later()
}

// ended notes that a pane's session is over.
func (m *Model) ended(p *pane, state views.PaneState, detail string) {
	p.state, p.detail = state, detail
	p.guard = views.NewGuard(time.Now())
	m.wake(views.QuietTime)
	m.dropRequests(p.id)
	if p.att != nil {
		att := p.att
		m.command(func() tea.Msg { _ = att.Close(); return nil })
	}
	if p.closing {
		m.removePane(p)
	}
	m.redraw()
	m.leaveWhenEmpty()
}

// removePane takes a pane off the screen. Its session is over, or being dropped.
func (m *Model) removePane(p *pane) {
	p.cancel()
	p.queue.close()
	if p.att != nil && p.state.Live() {
		att := p.att
		m.command(func() tea.Msg { _ = att.Close(); return nil })
	}
	m.dropRequests(p.id)
	next, ok := m.afterRemoval(p.id)
	delete(m.panes, p.id)
	m.tree = m.tree.Remove(layout.ID(p.id))
	if m.focus == p.id {
		m.focus, m.zoomed = 0, false
		if ok {
			m.setFocus(next)
		}
	}
	m.arrange()
}

// afterRemoval returns who gets the keyboard when a pane goes.
func (m *Model) afterRemoval(id views.PaneID) (views.PaneID, bool) {
	if m.panes[m.before] != nil && m.before != id {
		return m.before, true
	}
	ids := m.tree.Panes()
	for i, at := range ids {
		if views.PaneID(at) != id {
			continue
		}
		if i > 0 {
			return views.PaneID(ids[i-1]), true
		}
		if len(ids) > 1 {
			return views.PaneID(ids[1]), true
		}
	}
	return 0, false
}

// fit gives the pane the size of its place on the screen.
func (m *Model) fit(p *pane) {
	content := frame.Rect{W: 80, H: 24}
	if area, ok := m.tiling.Area(layout.ID(p.id)); ok {
		content = paneview.Content(area)
	}
	size := wire.Size{Rows: uint16(max(1, content.H)), Cols: uint16(max(1, content.W))}
	if size == p.size {
		return
	}
	p.size = size
	if p.term == nil {
		return
	}
	p.term.resize(int(size.Cols), int(size.Rows))
	if p.copy != nil {
		p.copy.SetSize(int(size.Cols), int(size.Rows))
	}
	if p.att != nil {
		p.queue.resize(size)
	}
}

func (m *Model) focused() *pane { return m.panes[m.focus] }

func (m *Model) setFocus(id views.PaneID) {
	if id == m.focus || m.panes[id] == nil {
		return
	}
	m.tellFocus(false)
	if m.focus != 0 {
		m.before = m.focus
	}
	m.focus = id
	m.panes[id].bell = false
	m.tellFocus(m.in.focused)
	m.redraw()
}

// look takes the pane's picture anew if it may differ from the one that is kept.
func (p *pane) look() {
	changed := p.term.changed()
	s := p.shown
	if changed || s.grid == nil || s.held || s.top != p.top || s.cols != int(p.size.Cols) || s.rows != int(p.size.Rows) {
		p.shown = p.term.picture(p.top)
	}
}

// info is a pane for lists and title bars.
func (m *Model) info(p *pane) views.PaneInfo {
	i := views.PaneInfo{
		ID: p.id, Profile: term.Sanitize(p.req.Profile), State: p.state, Detail: p.detail,
		Bell: p.bell, Started: p.started, Pending: m.pendingOf(p.id), Title: p.shown.title,
	}
	if p.att != nil {
		w := p.att.Welcome()
		i.Session = w.Session
		i.Domain, _ = domain.Identify(w.Profile, w.Workspace)
		if own, ok := p.att.(interface{ Branch() string }); ok {
			i.Branch = own.Branch()
		}
	}
	if i.Title == "" {
		i.Title = "shell"
		if len(p.req.Argv) > 0 {
			i.Title = views.QuoteArgv(p.req.Argv)
		} else if c := m.commandOf(p.req.Profile); c != "" {
			i.Title = c
		}
	}
	return i
}

func (m *Model) commandOf(profile string) string {
	for _, p := range m.kinds {
		if p.Name == profile {
			return term.Sanitize(p.Command)
		}
	}
	return ""
}

func exitDetail(code int) string { return strconv.Itoa(code) }
