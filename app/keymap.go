package app

import (
	"slices"

	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/changes"
	"lazaret.dev/lazaret/views/fleet"
	"lazaret.dev/lazaret/views/help"
	"lazaret.dev/lazaret/views/inbox"
	"lazaret.dev/lazaret/views/messages"
	confirmview "lazaret.dev/lazaret/views/overlay"
	paneview "lazaret.dev/lazaret/views/pane"
	"lazaret.dev/lazaret/views/review"
	"lazaret.dev/lazaret/views/start"
	"lazaret.dev/lazaret/views/status"
)

// LeaderTable are the keys after the leader. Every one works in every view.
func LeaderTable() views.Table {
	return views.Table{Context: "after the leader", Rows: []views.Binding{
		{Action: "new-session", Keys: []string{"n", "c"}, Help: "new session"},
		{Action: "split-right", Keys: []string{"|", "\\"}, Help: "split right, same profile"},
		{Action: "split-down", Keys: []string{"-"}, Help: "split down, same profile"},
		{Action: "focus-left", Keys: []string{"left", "h"}, Help: "focus left"},
		{Action: "focus-down", Keys: []string{"down", "j"}, Help: "focus down"},
		{Action: "focus-up", Keys: []string{"up", "k"}, Help: "focus up"},
		{Action: "focus-right", Keys: []string{"right", "l"}, Help: "focus right"},
		{Action: "focus-next", Keys: []string{"tab", "o"}, Help: "next pane"},
		{Action: "focus-last", Keys: []string{";"}, Help: "last pane"},
		{Action: "grow-left", Keys: []string{"H", "shift+left"}, Help: "move the edge left"},
		{Action: "grow-down", Keys: []string{"J", "shift+down"}, Help: "move the edge down"},
		{Action: "grow-up", Keys: []string{"K", "shift+up"}, Help: "move the edge up"},
		{Action: "grow-right", Keys: []string{"L", "shift+right"}, Help: "move the edge right"},
		{Action: "swap", Keys: []string{"S"}, Help: "swap with the next"},
		{Action: "zoom", Keys: []string{"z"}, Help: "zoom, and back"},
		{Action: "close", Keys: []string{"x"}, Help: "close the pane, and end its session", Danger: true},
		{Action: "copy-mode", Keys: []string{"[", "v"}, Help: "copy mode, scroll and search"},
		{Action: "scroll-up", Keys: []string{"pgup"}, Help: "scroll up"},
		{Action: "scroll-down", Keys: []string{"pgdown"}, Help: "scroll down"},
		{Action: "paste", Keys: []string{"]", "p"}, Help: "paste what was copied"},
		{Action: "accept-clip", Keys: []string{"y"}, Help: "take the offered clipboard"},
		{Action: "review", Keys: []string{"r", "a"}, Help: "review the oldest request"},
		{Action: "inbox", Keys: []string{"i"}, Help: "inbox"},
		{Action: "fleet", Keys: []string{"s", "w"}, Help: "fleet, all sessions"},
		{Action: "status", Keys: []string{"d"}, Help: "domain status"},
		{Action: "messages", Keys: []string{"m"}, Help: "messages"},
		{Action: "help", Keys: []string{"?"}, Help: "help"},
		{Action: "suspend", Keys: []string{"ctrl+z", "Z"}, Help: "suspend the dashboard"},
		{Action: "quit", Keys: []string{"q"}, Help: "quit, and end the sessions", Danger: true},
	}}
}

// keymap is every key table with the configuration applied.
type keymap map[string]views.Table

// The names of the tables in a keymap.
const (
	tableLeader   = "leader"
	tableDead     = "dead"
	tableCopy     = "copy"
	tableFleet    = "fleet"
	tableStart    = "start"
	tableStatus   = "status"
	tableChanges  = "changes"
	tableInbox    = "inbox"
	tableReview   = "review"
	tableEdit     = "edit"
	tableHelp     = "help"
	tableConfirm  = "confirm"
	tableMessages = "messages"
)

func newKeymap(keys map[string]string) keymap {
	k := keymap{
		tableLeader: LeaderTable(), tableDead: paneview.DeadTable(), tableCopy: paneview.CopyTable(),
		tableFleet: fleet.Table(), tableStart: start.Table(), tableStatus: status.Table(),
		tableInbox: inbox.Table(), tableReview: review.Table(), tableEdit: review.EditTable(),
		tableHelp: help.Table(), tableConfirm: confirmview.Table(), tableMessages: messages.Table(),
		tableChanges: changes.Table(),
	}
	for name, t := range k {
		k[name] = t.Rebind(keys)
	}
	return k
}

// Tables returns every key table with its default keys, the leader's first. The
// configuration's [keys] names their actions.
func Tables() []views.Table {
	k := newKeymap(nil)
	var tables []views.Table
	for _, name := range []string{
		tableLeader, tableReview, tableEdit, tableConfirm, tableInbox, tableFleet, tableStart,
		tableStatus, tableChanges, tableCopy, tableDead, tableMessages, tableHelp,
	} {
		tables = append(tables, k[name])
	}
	return tables
}

// leaderTable is the leader's keys with the reason why one does nothing now.
func (m *Model) leaderTable() views.Table {
	t := m.keys[tableLeader]
	rows := slices.Clone(t.Rows)
	for i := range rows {
		rows[i].Disabled = m.disabled(rows[i].Action)
	}
	return views.Table{Context: t.Context, Rows: rows}
}

func (m *Model) disabled(action string) string {
	switch action {
	case "split-right", "split-down", "zoom", "close", "copy-mode", "scroll-up", "scroll-down":
		if m.focused() == nil {
			return "there is no pane"
		}
	case "focus-left", "focus-right", "focus-up", "focus-down", "focus-next", "focus-last", "swap",
		"grow-left", "grow-right", "grow-up", "grow-down":
		if len(m.panes) < 2 {
			return "there is only one pane"
		}
	case "paste":
		if m.in.clip == "" {
			return "nothing was copied"
		}
	case "accept-clip":
		if m.in.offered == "" {
			return "no program offered anything"
		}
	case "review":
		if len(m.waiting()) == 0 {
			return "nothing waits for you"
		}
	}
	return ""
}

// chord is how a leader action is typed, for hints.
func (m *Model) chord(action string) string {
	row, _ := m.keys[tableLeader].Named(action)
	return m.opt.Leader + " " + row.Key()
}
