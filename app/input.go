package app

import (
	"fmt"
	"time"

	"lazaret.dev/lazaret/internal/input"
	"lazaret.dev/lazaret/views"
	paneview "lazaret.dev/lazaret/views/pane"
)

// whichKeyTime is how long the leader is armed before its keys are shown, so that
// a quick chord does not flash.
const whichKeyTime = 250 * time.Millisecond

// takeInput gives each thing that was typed to whoever has the keyboard at that
// moment, in order.
func (m *Model) takeInput(raw []byte) {
	for _, ev := range m.in.parser.Feed(raw) {
		m.event(ev)
	}
	m.in.late++
	if m.in.parser.Pending() {
		m.after(lateTime, inputLateMsg{seq: m.in.late})
	}
}

func (m *Model) flushInput(msg inputLateMsg) {
	if msg.seq != m.in.late {
		return
	}
	for _, ev := range m.in.parser.Flush() {
		m.event(ev)
	}
}

func (m *Model) event(ev input.Event) {
	switch ev.Kind {
	case input.Key:
		m.key(ev)
	case input.Paste:
		m.paste(ev)
	case input.Mouse:
		m.mouse(ev)
	case input.FocusIn, input.FocusOut:
		m.in.focused = ev.Kind == input.FocusIn
		m.tellFocus(m.in.focused)
	case input.Reply:
		m.reply(string(ev.Raw))
	}
}

// key routes one key press: leader first, then the view on top, then the pane.
func (m *Model) key(ev input.Event) {
	now := time.Now()
	chord := input.Chord(ev.Raw)
	switch {
	case m.in.leader:
		m.leaderKey(chord, ev)
	case chord == m.opt.Leader:
		m.in.leader, m.in.armedAt = true, now
		m.wake(whichKeyTime)
		m.redraw()
	case len(m.over) > 0:
		top := m.over[len(m.over)-1]
		act := top.Key(views.Key{Chord: chord, Text: typed(ev.Raw, chord), At: now})
		m.rearm(top)
		m.do(act)
		m.redraw()
	default:
		m.paneKey(ev, chord, now)
	}
	m.in.lastKey = now
}

// rearm looks again when a card that is still waiting for a pause would take keys.
func (m *Model) rearm(o overlay) {
	if c, ok := o.(interface{ Due() time.Time }); ok {
		if wait := time.Until(c.Due()); wait > 0 {
			m.wake(wait)
		}
	}
}

// typed returns what a key types into a field.
func typed(raw []byte, chord string) string {
	if s := views.Printable(string(raw)); s != "" {
		return s
	}
	if chord == "space" {
		return " "
	}
	if len([]rune(chord)) == 1 { // a letter in the kitty form
		return chord
	}
	return ""
}

// leaderKey is the key after the leader.
func (m *Model) leaderKey(chord string, ev input.Event) {
	m.in.leader = false
	m.redraw()
	if chord == m.opt.Leader {
		if p := m.focused(); p != nil && len(m.over) == 0 {
			m.send(p, ev)
		}
		return
	}
	if chord == "esc" {
		return
	}
	row, ok := m.leaderTable().Find(chord)
	switch {
	case ok && row.Disabled != "":
		m.notify(views.Info, row.Help+": "+row.Disabled)
	case ok:
		m.leaderAction(row.Action)
	case len(chord) == 1 && chord >= "1" && chord <= "9":
		m.focusNumber(int(chord[0] - '0'))
	case chord != "":
		m.notify(views.Info, fmt.Sprintf("%s %s does nothing; %s shows the keys", m.opt.Leader, chord, m.chord("help")))
	}
}

// paneKey gives a key to the focused pane.
func (m *Model) paneKey(ev input.Event, chord string, now time.Time) {
	p := m.focused()
	switch {
	case p == nil:
		m.emptyKey(chord)
	case p.copy != nil:
		m.copyKey(p, views.Key{Chord: chord, Text: typed(ev.Raw, chord), At: now})
	case !p.state.Live():
		m.deadKey(p, chord, now)
	default:
		m.live(p)
		m.send(p, ev)
	}
}

// send queues an event for a pane's program, in the form its modes ask for.
func (m *Model) send(p *pane, ev input.Event) {
	area, _ := m.content(p)
	data := input.Encode(ev, p.term.modes(), area.X, area.Y)
	if !p.queue.push(data) && ev.Kind != input.Mouse {
		m.notify(views.Warning, "the program does not read; what you typed was not delivered")
	}
}

// live puts a scrolled pane back to its newest line.
func (m *Model) live(p *pane) {
	if p.top >= 0 {
		p.top = -1
		m.redraw()
	}
}

func (m *Model) deadKey(p *pane, chord string, now time.Time) {
	if !p.guard.Take(now) {
		m.wake(views.QuietTime)
		return
	}
	row, ok := m.keys[tableDead].Find(chord)
	if !ok {
		p.guard.Restart(now)
		m.wake(views.QuietTime)
		m.redraw()
		return
	}
	switch row.Action {
	case "pane-restart":
		m.do(views.RestartPane{Pane: p.id})
	case "pane-dismiss":
		m.do(views.ClosePane{Pane: p.id})
	}
}

// emptyKey is a key while there is no pane at all.
func (m *Model) emptyKey(chord string) {
	switch chord {
	case "n", "enter":
		m.do(views.Open{View: views.ViewStart})
	case "q":
		m.do(views.Quit{})
	case "?":
		m.do(views.Open{View: views.ViewHelp})
	}
	m.redraw()
}

// paste gives a whole paste to whoever has the keyboard.
func (m *Model) paste(ev input.Event) {
	m.in.leader = false
	if ev.Over {
		m.notify(views.Warning, fmt.Sprintf("the paste of %d bytes is over the limit of %d and was not delivered", ev.Size, input.DefaultPasteLimit))
		return
	}
	if len(m.over) > 0 {
		if v, ok := m.over[len(m.over)-1].(interface{ Paste(string) }); ok {
			v.Paste(string(ev.Text))
			m.redraw()
		}
		return
	}
	if p := m.focused(); p != nil && p.copy == nil && p.state.Live() {
		m.live(p)
		m.send(p, ev)
		m.in.lastKey = time.Now()
	}
}

// tellFocus reports gained or lost focus to the focused pane's program, if it asked.
func (m *Model) tellFocus(gained bool) {
	p := m.focused()
	if p == nil || p.term == nil || !p.state.Live() {
		return
	}
	ev := input.Event{Kind: input.FocusOut, Raw: []byte("\x1b[O")}
	if gained {
		ev = input.Event{Kind: input.FocusIn, Raw: []byte("\x1b[I")}
	}
	m.send(p, ev)
}

// reply takes the outer terminal's answer to a query of ours.
func (m *Model) reply(raw string) {
	switch raw {
	case "\x1b[?2026;1$y", "\x1b[?2026;2$y":
		m.opt.Screen.Synchronized(true)
	}
}

// copyKey is a key in copy mode.
func (m *Model) copyKey(p *pane, k views.Key) {
	act := p.copy.Key(k, m.keys[tableCopy])
	p.top = p.copy.Top()
	switch act := act.(type) {
	case views.Close:
		m.leaveCopy(p)
	case views.Copy:
		m.leaveCopy(p)
		m.copyOut(act.Text)
	}
	m.redraw()
}

func (m *Model) enterCopy(p *pane) {
	top := p.top
	if top < 0 {
		top = p.term.history()
	}
	p.copy = paneview.NewCopy(p.term, top, int(p.size.Cols), int(p.size.Rows))
	p.top = p.copy.Top()
	if p.term.modes().AltScreen {
		m.notify(views.Info, "a full-screen program is on; only its screen and what was before it can be copied")
	}
	m.redraw()
}

func (m *Model) leaveCopy(p *pane) {
	p.copy, p.top = nil, -1
	m.redraw()
}

// copyOut puts text on our clipboard and on the developer's.
func (m *Model) copyOut(text string) {
	if text == "" {
		return
	}
	m.in.clip = text
	m.opt.Screen.Control(osc52(text))
	m.notify(views.Info, fmt.Sprintf("copied %d bytes; %s pastes them here, and the terminal was asked to take them", len(text), m.chord("paste")))
}

var _ paneview.Text = (*terminal)(nil)

// scroll moves a pane's view over its history, up for a negative number of lines.
func (m *Model) scroll(p *pane, by int) {
	if p.copy != nil {
		p.copy.Scroll(by)
		p.top = p.copy.Top()
		m.redraw()
		return
	}
	history := p.term.history()
	top := history
	if p.top >= 0 {
		top = p.top
	}
	if top = max(0, top+by); top >= history {
		p.top = -1
	} else {
		p.top = top
	}
	m.redraw()
}
