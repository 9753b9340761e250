package app

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// frameTime is the shortest time between two pictures of output.
	frameTime = time.Second / 60
	// echoTime is how long after a key the focused pane's output is drawn at once:
	// it is most likely the echo.
	echoTime = 50 * time.Millisecond
	// lateTime is how long a lone ESC may be the start of something longer.
	lateTime = 20 * time.Millisecond
)

// Update is the only place where the dashboard changes.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case InputMsg:
		m.takeInput(msg)
	case inputLateMsg:
		m.flushInput(msg)
	case SizeMsg:
		m.resize(msg.W, msg.H)
	case outputMsg:
		m.paneChanged(msg.pane)
	case sessionMsg:
		m.sessionEvent(msg)
	case askMsg:
		m.paneAsks(msg)
	case openedMsg:
		m.opened(msg)
	case progressMsg:
		m.progress(msg)
	case decidedMsg:
		m.decided(msg)
	case lookedMsg:
		m.looked(msg)
	case seenMsg:
		m.marked(msg)
	case frameMsg:
		m.out.waiting = false
	case clockMsg:
		m.clock()
	case ResumedMsg:
		m.resumed()
	case continuedMsg:
		m.continued()
	case HangupMsg, leaveMsg:
		m.leaveNow()
	default:
		return m, nil
	}
	m.present(time.Now())
	return m, m.finish()
}

// present draws when something changed and the time has come.
func (m *Model) present(now time.Time) {
	if !m.out.dirty || m.out.suspended || m.end.done {
		return
	}
	if wait := frameTime - now.Sub(m.out.last); !m.out.urgent && wait > 0 {
		if !m.out.waiting {
			m.out.waiting = true
			m.after(wait, frameMsg{})
		}
		return
	}
	m.refresh(now)
	m.opt.Screen.Draw(m.Frame())
	m.out.dirty, m.out.urgent, m.out.last = false, false, now
	m.watchFrozen()
}

// redraw asks for a picture without waiting for the frame limit: the developer did
// something.
func (m *Model) redraw() { m.out.dirty, m.out.urgent = true, true }

// later asks for a picture within the frame limit.
func (m *Model) later() { m.out.dirty = true }

// clock runs when something that depends on time may look different.
func (m *Model) clock() {
	m.out.ageing = false
	m.redraw()
}

func (m *Model) suspend() {
	if m.out.suspended {
		return
	}
	m.out.suspended = true
	screen := m.opt.Screen
	m.command(func() tea.Msg {
		screen.Suspend()
		return ResumedMsg{}
	})
}

// continued sets the terminal up again after a stop that gave no warning, such as
// SIGSTOP. Our own suspension does so itself.
func (m *Model) continued() {
	if m.out.suspended || time.Since(m.out.resumed) < time.Second {
		return
	}
	screen := m.opt.Screen
	m.out.suspended = true
	m.command(func() tea.Msg {
		screen.Reenter()
		return ResumedMsg{}
	})
}

func (m *Model) resumed() {
	m.out.suspended, m.out.resumed = false, time.Now()
	m.redraw()
}
