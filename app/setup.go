package app

import (
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/term"
)

// setUp is the time before a session's program has written anything.
type setUp struct{ shown, done bool }

// wipe gives the program the empty terminal it expects.
const wipe = "\x1b[m\x1b[H\x1b[2J\x1b[3J"

// line is what to show of ev, "" when it is not about setting up.
func (s *setUp) line(ev client.Event) string {
	notice, ok := ev.(client.Notice)
	if !ok || s.done || notice.Level != wire.LevelInfo {
		return ""
	}
	s.shown = true
	return "\x1b[2m" + term.Sanitize(notice.Text) + "\x1b[m\r\n"
}

// over ends the time, and reports whether there is something to wipe.
func (s *setUp) over() bool {
	was := s.shown && !s.done
	s.done = true
	return was
}
