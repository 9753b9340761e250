package app

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/changes"
)

// Changes tells what sandboxes did in the workspaces of Domains. It reads files and may
// take seconds; its calls may overlap.
type Changes interface {
	// Look reads what is new. seen records that the developer has seen that.
	Look(ctx context.Context, id domain.ID) (c views.Changes, seen func() error, err error)
}

// look is the newest look at one Domain's changes.
type look struct {
	shown   views.Changes
	seen    func() error
	looking bool // one is under way
	again   bool // another was asked for meanwhile
}

type (
	lookedMsg struct {
		domain domain.ID
		found  views.Changes
		seen   func() error
		err    error
	}
	seenMsg struct {
		domain domain.ID
		err    error
	}
)

// lookAll looks at the changes of every Domain.
func (m *Model) lookAll() {
	for _, d := range m.domainInfos() {
		m.look(d.ID)
	}
}

func (m *Model) look(id domain.ID) {
	if m.opt.Changes == nil {
		return
	}
	l := m.looks[id]
	if l == nil {
		l = &look{shown: views.Changes{State: views.ChangesLooking}}
		m.looks[id] = l
	}
	if l.looking {
		l.again = true
		return
	}
	l.looking = true
	source, ctx := m.opt.Changes, m.ctx
	m.command(func() tea.Msg {
		found, seen, err := source.Look(ctx, id)
		return lookedMsg{domain: id, found: found, seen: seen, err: err}
	})
}

// looked takes what a look found.
func (m *Model) looked(msg lookedMsg) {
	l := m.looks[msg.domain]
	serial := l.shown.Serial + 1
	l.shown, l.seen, l.looking = msg.found, msg.seen, false
	l.shown.State, l.shown.Serial = views.ChangesKnown, serial
	if msg.err != nil {
		l.shown = views.Changes{State: views.ChangesFailed, Serial: serial, Why: term.Sanitize(msg.err.Error())}
	}
	if l.again {
		l.again = false
		m.look(msg.domain)
	}
	m.redraw()
}

// showChanges opens the list of a Domain's changes, as they are known now.
func (m *Model) showChanges(id domain.ID) {
	if l := m.looks[id]; l != nil && len(l.shown.Items) > 0 {
		m.push(changes.New(m.keys[tableChanges], id, l.shown))
	}
}

// markLooked records that the developer has seen a list to its end: that list, not one
// read since.
func (m *Model) markLooked(act views.Looked) {
	m.pop()
	l := m.looks[act.Domain]
	if l == nil || l.seen == nil || l.shown.Serial != act.Serial {
		return
	}
	seen := l.seen
	m.command(func() tea.Msg { return seenMsg{domain: act.Domain, err: seen()} })
}

func (m *Model) marked(msg seenMsg) {
	if msg.err != nil {
		m.notify(views.Warning, "what you looked at could not be recorded: "+term.Sanitize(msg.err.Error()))
	}
	m.look(msg.domain)
}
