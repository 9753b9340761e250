package app

import (
	"time"

	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/views"
)

const (
	// noticeTime is how long a message stays in the bottom line.
	noticeTime = 6 * time.Second
	// noticeLimit is how many messages are kept; the oldest go first.
	noticeLimit = 500
)

// messageArea is what was reported. The last message is in the bottom line for a
// while; all of them are in the messages view.
type messageArea struct {
	all   []views.Message
	until time.Time
}

// notify reports one line to the developer. The text may be anyone's.
func (m *Model) notify(l views.Level, text string) {
	now := time.Now()
	m.msgs.all = append(m.msgs.all, views.Message{At: now, Level: l, Text: term.Sanitize(text)})
	if n := len(m.msgs.all) - noticeLimit; n > 0 {
		m.msgs.all = append([]views.Message(nil), m.msgs.all[n:]...)
	}
	m.msgs.until = now.Add(noticeTime)
	m.wake(noticeTime)
	m.redraw()
}

// shown returns the message for the bottom line, if one is fresh enough.
func (a *messageArea) shown(now time.Time) (views.Message, bool) {
	if len(a.all) == 0 || !now.Before(a.until) {
		return views.Message{}, false
	}
	return a.all[len(a.all)-1], true
}
