package app

import (
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/review"
)

// request is one that waits, and the pane it belongs to.
type request struct {
	pane    views.PaneID
	pending escalate.Pending
	decided bool // an answer is on its way; it no longer waits for the developer
}

// sessionEvent takes news of a session.
func (m *Model) sessionEvent(msg sessionMsg) {
	p := m.panes[msg.pane]
	if p == nil || p.try != msg.try {
		return
	}
	switch ev := msg.event.(type) {
	case client.Pending:
		m.asks(p, ev.Pending)
	case client.Resolved:
		m.resolved(ev)
	case client.Status:
		m.domains[ev.Domain] = ev
		m.later()
	case client.Notice:
		m.notify(level(ev.Level), p.req.Profile+": "+ev.Text)
	case client.Exit:
		if ev.Lost {
			m.ended(p, views.PaneLost, term.Sanitize(ev.Reason))
			m.notify(views.Error, p.req.Profile+" was lost: "+ev.Reason)
			return
		}
		m.ended(p, views.PaneExited, exitDetail(ev.Code))
	case client.Lost:
		if p.state.Live() {
			m.lost(p, ev.Err)
		}
	}
}

func (m *Model) lost(p *pane, err error) {
	var refused *wire.Refused
	if errors.As(err, &refused) && (refused.Code == wire.CodeExec || refused.Code == wire.CodeLaunch) {
		m.openFailed(p, err) // it never ran
		m.redraw()
		return
	}
	reason := "the connection to its coordinator ended"
	if err != nil {
		reason = err.Error()
	}
	m.ended(p, views.PaneLost, term.Sanitize(reason))
	if !p.closing {
		m.notify(views.Error, p.req.Profile+" was lost: "+reason)
	}
}

func level(l wire.Level) views.Level {
	switch l {
	case wire.LevelError:
		return views.Error
	case wire.LevelWarning:
		return views.Warning
	}
	return views.Info
}

// paneAsks takes what a program asked of the developer through its terminal.
func (m *Model) paneAsks(msg askMsg) {
	p := m.panes[msg.pane]
	if p == nil {
		return
	}
	for _, ev := range msg.events {
		switch ev.Kind {
		case term.EventBell:
			m.bell(p)
		case term.EventNotify:
			m.bell(p)
			m.notify(views.Info, p.req.Profile+": "+ev.Text)
		case term.EventClipboard:
			// Never silently: what is pasted next must be what was copied last.
			m.in.offered = ev.Text
			m.notify(views.Info, fmt.Sprintf("%s offers %d bytes for the clipboard: %s takes them", p.req.Profile, len(ev.Text), m.chord("accept-clip")))
		}
	}
}

func (m *Model) bell(p *pane) {
	m.opt.Screen.Control([]byte{'\a'})
	if p.id != m.focus || !m.in.focused {
		p.bell = true
		m.later()
	}
}

// desktopNote asks the terminal for a desktop notification (OSC 9). Its text is ours:
// nothing of a request goes there.
const desktopNote = "\x1b]9;Lazaret: a request waits for you\a"

// asks puts a request into the inbox.
func (m *Model) asks(p *pane, pending escalate.Pending) {
	id := pending.Request.ID
	if slices.ContainsFunc(m.asked, func(r request) bool { return r.pending.Request.ID == id }) {
		return
	}
	m.asked = append(m.asked, request{pane: p.id, pending: pending})
	m.opt.Screen.Control([]byte{'\a'})
	if !m.in.focused {
		m.opt.Screen.Control([]byte(desktopNote))
	}
	m.redraw()
}

// resolved takes a request that no longer waits out of the inbox, and closes its
// card: it was withdrawn, expired or answered elsewhere.
func (m *Model) resolved(ev client.Resolved) {
	i := m.indexOf(ev.Request)
	if i < 0 {
		return
	}
	r := m.asked[i]
	if ev.Outcome == escalate.OutcomeRunning {
		m.asked[i].decided = true // not final: how it ends is still to come
	} else {
		m.asked = slices.Delete(m.asked, i, i+1)
	}
	m.closeCards()
	m.notify(outcomeLevel(ev.Outcome), outcomeText(r, ev))
	m.redraw()
}

func (m *Model) indexOf(id domain.RequestID) int {
	return slices.IndexFunc(m.asked, func(r request) bool { return r.pending.Request.ID == id })
}

func outcomeLevel(o escalate.Outcome) views.Level {
	switch o {
	case escalate.OutcomeFailed, escalate.OutcomeRefused:
		return views.Error
	case escalate.OutcomeExpired:
		return views.Warning
	}
	return views.Info
}

func outcomeText(r request, ev client.Resolved) string {
	what := map[escalate.Outcome]string{
		escalate.OutcomeRan: "ran", escalate.OutcomeDenied: "was denied", escalate.OutcomeExpired: "expired, which counts as denied",
		escalate.OutcomeCancelled: "was withdrawn", escalate.OutcomeFailed: "could not be started",
		escalate.OutcomeRefused: "was refused", escalate.OutcomeRunning: "runs on the host",
	}[ev.Outcome]
	if what == "" {
		what = "ended"
	}
	text := views.QuoteArgv(r.pending.Request.Argv) + " " + what
	if ev.Detail != "" {
		text += ": " + ev.Detail
	}
	return text
}

// waiting are the requests the developer has yet to answer, the oldest first.
func (m *Model) waiting() []request {
	var out []request
	for _, r := range m.asked {
		if !r.decided {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b request) int {
		return int(a.pending.ReceivedUnix - b.pending.ReceivedUnix)
	})
	return out
}

func (m *Model) pendingOf(id views.PaneID) int {
	n := 0
	for _, r := range m.asked {
		if r.pane == id && !r.decided {
			n++
		}
	}
	return n
}

// dropRequests forgets the requests of a session that is over.
func (m *Model) dropRequests(id views.PaneID) {
	m.asked = slices.DeleteFunc(m.asked, func(r request) bool { return r.pane == id })
	m.closeCards()
}

// closeCards closes every card, and every question about one, whose request no
// longer waits.
func (m *Model) closeCards() {
	m.over = slices.DeleteFunc(m.over, func(o overlay) bool {
		id, about := requestOf(o)
		if !about {
			return false
		}
		i := m.indexOf(id)
		return i < 0 || m.asked[i].decided
	})
}

// decide sends the developer's answer.
func (m *Model) decide(d views.Decide) {
	id := d.Pending.Request.ID
	i := m.indexOf(id)
	if i < 0 || m.asked[i].decided {
		m.notify(views.Warning, "that request no longer waits; nothing was sent")
		return
	}
	p := m.panes[m.asked[i].pane]
	if p == nil || p.att == nil {
		return
	}
	m.asked[i].decided = true
	m.closeCards()
	att := p.att
	m.command(func() tea.Msg {
		return decidedMsg{request: id, err: att.Decide(d.Pending, d.Verdict, d.Argv, d.Reason)}
	})
}

// decided puts a request back whose answer could not be sent.
func (m *Model) decided(msg decidedMsg) {
	if msg.err == nil {
		return
	}
	if i := m.indexOf(msg.request); i >= 0 {
		m.asked[i].decided = false
	}
	m.notify(views.Error, "the answer could not be sent: "+msg.err.Error())
}

// openCard shows a request's card over whatever is on the screen.
func (m *Model) openCard(id domain.RequestID) {
	i := m.indexOf(id)
	if i < 0 {
		return
	}
	m.push(review.New(m.keys[tableReview], m.keys[tableEdit], m.askedOf(m.asked[i]), time.Now()))
	m.wake(views.QuietTime)
}

func (m *Model) askedOf(r request) views.Asked {
	a := views.Asked{Pending: r.pending, Pane: r.pane}
	if p := m.panes[r.pane]; p != nil {
		a.Title = m.info(p).Title
	}
	return a
}
