package app

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// OpenedForTest is the message that the first pane's session is open.
func OpenedForTest(m *Model) tea.Msg {
	p := m.focused()
	att, err := m.opt.Sessions.Open(context.Background(), p.req, func(string) {})
	return openedMsg{pane: p.id, try: p.try, att: att, err: err}
}
