package app

import (
	"slices"
	"time"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/fleet"
	"lazaret.dev/lazaret/views/help"
	"lazaret.dev/lazaret/views/inbox"
	"lazaret.dev/lazaret/views/messages"
	confirmview "lazaret.dev/lazaret/views/overlay"
	"lazaret.dev/lazaret/views/review"
	"lazaret.dev/lazaret/views/start"
	"lazaret.dev/lazaret/views/status"
)

// ageTime is how often ages are redrawn while a view that shows some is open.
const ageTime = 5 * time.Second

// push opens a view over the others.
func (m *Model) push(o overlay) {
	m.over = append(m.over, o)
	m.refresh(time.Now())
	m.sizeOver(o)
	m.redraw()
}

// pop closes the view on top.
func (m *Model) pop() {
	if n := len(m.over); n > 0 {
		m.over = m.over[:n-1]
	}
}

func (m *Model) sizeOver(o overlay) {
	c := m.overArea(views.Canvas{Area: frame.Rect{W: m.out.w, H: m.out.h}})
	o.SetSize(c.Area.W, c.Area.H)
}

func (m *Model) confirm(ask views.Confirm) {
	m.push(confirmview.New(m.keys[tableConfirm], ask))
}

func (m *Model) openView(name views.ViewName) {
	switch name {
	case views.ViewFleet:
		v := fleet.New(m.keys[tableFleet])
		m.push(v)
		v.Select(m.focus)
	case views.ViewStart:
		m.push(start.New(m.keys[tableStart], m.kinds))
	case views.ViewInbox:
		m.push(inbox.New(m.keys[tableInbox]))
	case views.ViewStatus:
		m.lookAll()
		v := status.New(m.keys[tableStatus])
		m.push(v)
		v.Select(m.focus)
	case views.ViewMessages:
		m.push(messages.New(m.keys[tableMessages]))
	case views.ViewHelp:
		m.push(help.New(m.keys[tableHelp], m.helpTables()))
	}
}

// helpTables are the key tables for the help, the current context first.
func (m *Model) helpTables() []views.Table {
	var tables []views.Table
	switch p := m.focused(); {
	case len(m.over) > 0:
		tables = append(tables, m.over[len(m.over)-1].Table())
	case p != nil && p.copy != nil:
		tables = append(tables, m.keys[tableCopy])
	case p != nil && !p.state.Live():
		tables = append(tables, m.keys[tableDead])
	}
	leader := m.leaderTable()
	leader.Context = "after " + m.opt.Leader + ", in every view"
	tables = append(tables, leader)
	for _, name := range []string{tableReview, tableEdit, tableCopy, tableDead, tableInbox, tableFleet, tableStart, tableStatus, tableChanges, tableMessages} {
		t := m.keys[name]
		if !slices.ContainsFunc(tables, func(o views.Table) bool { return o.Context == t.Context }) {
			tables = append(tables, t)
		}
	}
	return tables
}

// refresh takes the picture of each visible pane that changed, and gives the open
// views what they show. It runs before each picture, so
// that drawing itself changes nothing.
func (m *Model) refresh(now time.Time) {
	for _, placed := range m.tiling.Panes {
		if p := m.panes[views.PaneID(placed.Pane)]; p != nil {
			p.look()
		}
	}
	ageing := false
	for _, o := range m.over {
		switch v := o.(type) {
		case *fleet.View:
			v.SetDomains(m.domainInfos())
		case *status.View:
			v.SetDomains(m.domainInfos())
		case *messages.View:
			v.SetMessages(m.msgs.all)
		case *inbox.View:
			v.SetAsked(m.askedAll(), now)
			ageing = ageing || len(m.asked) > 0
		case *review.View:
			v.SetNow(now)
			ageing = true
		}
	}
	if ageing && !m.out.ageing {
		m.out.ageing = true
		m.wake(ageTime)
	}
}

func (m *Model) askedAll() []views.Asked {
	var out []views.Asked
	for _, r := range m.waiting() {
		out = append(out, m.askedOf(r))
	}
	return out
}

// requestOf returns the request a view is about, if it is about one.
func requestOf(o overlay) (domain.RequestID, bool) {
	switch v := o.(type) {
	case *review.View:
		return v.Request().Request.ID, true
	case *confirmview.View:
		if d, ok := v.Question().Then.(views.Decide); ok {
			return d.Pending.Request.ID, true
		}
	}
	return "", false
}

// domainInfos are the Domains, in the order their first pane was opened.
func (m *Model) domainInfos() []views.DomainInfo {
	ids := make([]views.PaneID, 0, len(m.panes))
	for id := range m.panes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out []views.DomainInfo
	for _, id := range ids {
		p := m.panes[id]
		info := m.info(p)
		info.Domain, _ = domain.Identify(p.req.Profile, p.req.Workspace)
		if p.att != nil {
			w := p.att.Welcome()
			info.Domain, _ = domain.Identify(w.Profile, w.Workspace)
		}
		i := slices.IndexFunc(out, func(d views.DomainInfo) bool { return d.ID == info.Domain })
		if i < 0 {
			out = append(out, m.domainInfo(info.Domain, p))
			i = len(out) - 1
		}
		out[i].Panes = append(out[i].Panes, info)
	}
	return out
}

func (m *Model) domainInfo(id domain.ID, p *pane) views.DomainInfo {
	d := views.DomainInfo{ID: id, Profile: p.req.Profile, Workspace: p.req.Workspace}
	if l := m.looks[id]; l != nil {
		d.Changes = l.shown
	}
	s, ok := m.domains[id]
	if !ok {
		return d
	}
	d.Known, d.Mode, d.Generation = true, s.Mode, string(s.Generation)
	d.Started = time.Unix(s.StartedUnix, 0)
	d.NetworkUp, d.NetworkWhy = s.NetworkUp, s.NetworkReason
	d.Policy, d.Limits, d.Anchors = s.Policy, s.Limits, s.Anchors
	d.Lower, d.Log, d.Coordinator = s.Lower, s.Log, s.CoordinatorID
	for _, other := range s.Sessions {
		if m.holds(other.Session) {
			continue
		}
		d.Elsewhere = append(d.Elsewhere, views.ForeignSession{
			Session: other.Session, Command: views.QuoteArgv(other.Argv),
			Started: time.Unix(other.StartedUnix, 0), Pending: int(other.Pending),
		})
	}
	return d
}

func (m *Model) holds(id domain.SessionID) bool {
	for _, p := range m.panes {
		if p.att != nil && p.att.Welcome().Session == id {
			return true
		}
	}
	return false
}
