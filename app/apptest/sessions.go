package apptest

import (
	"context"
	"sync"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/views"
)

// Sessions is a fake of the coordinators. Its sessions do nothing by themselves.
type Sessions struct {
	mu     sync.Mutex
	opened []*Session
	// Gate, when set, is called in Open after Progress steps; what it returns is
	// the result of the attempt.
	Gate  func(ctx context.Context, req app.OpenRequest) error
	Steps []string
}

// Profiles returns three profiles.
func (s *Sessions) Profiles() []views.ProfileInfo {
	return []views.ProfileInfo{
		{Name: "shell", Command: "bash -l", Default: true},
		{Name: "claude", Command: "claude --dangerously-skip-permissions", Agent: "claude"},
		{Name: "aider", Command: "aider", Agent: "aider", Notice: "untested"},
	}
}

// Open opens a fake session.
func (s *Sessions) Open(ctx context.Context, req app.OpenRequest, progress func(string)) (app.Attachment, error) {
	for _, step := range s.Steps {
		progress(step)
	}
	if s.Gate != nil {
		if err := s.Gate(ctx, req); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.opened)
	a := &Session{
		Request: req,
		events:  make(chan client.Event, 256),
		welcome: wire.Welcome{
			Version: wire.Version, Profile: req.Profile, Workspace: req.Workspace,
			Generation: "0123456789abcdef", Session: SessionID(n),
		},
	}
	s.opened = append(s.opened, a)
	return a, nil
}

// SessionID is the id of the nth session opened.
func SessionID(n int) domain.SessionID {
	const digits = "0123456789abcdef"
	id := make([]byte, 32)
	for i := range id {
		id[i] = digits[n%16]
	}
	return domain.SessionID(id)
}

// Session returns the nth session that was opened.
func (s *Sessions) Session(n int) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.opened) {
		return nil
	}
	return s.opened[n]
}

// Session is one fake session.
type Session struct {
	Request app.OpenRequest
	welcome wire.Welcome
	events  chan client.Event

	mu        sync.Mutex
	written   []byte
	sizes     []wire.Size
	decisions []views.Decide
	ended     bool
	closed    bool
	over      bool
	// Refuse, when set, is what Decide returns.
	Refuse error
}

// Welcome returns how it was admitted.
func (s *Session) Welcome() wire.Welcome { return s.welcome }

// Events returns what was said with Say.
func (s *Session) Events() <-chan client.Event { return s.events }

// Write keeps what was typed.
func (s *Session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, p...)
	return len(p), nil
}

// Resize keeps the size.
func (s *Session) Resize(size wire.Size) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, size)
	return nil
}

// Decide keeps the decision.
func (s *Session) Decide(p escalate.Pending, verdict escalate.Verdict, argv []string, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Refuse != nil {
		return s.Refuse
	}
	s.decisions = append(s.decisions, views.Decide{Pending: p, Verdict: verdict, Argv: argv, Reason: reason})
	return nil
}

// End ends the session with status 129, as a hangup does.
func (s *Session) End() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.Exit(129)
	return nil
}

// Close drops the session.
func (s *Session) Close() error {
	s.finish()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Session) finish(last ...client.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	for _, ev := range last {
		s.events <- ev
	}
	close(s.events)
}

// Say delivers an event.
func (s *Session) Say(ev client.Event) { s.events <- ev }

// Print delivers output.
func (s *Session) Print(text string) {
	s.Say(client.Output{Stream: wire.StreamTTY, Data: []byte(text)})
}

// Exit ends the session with a status.
func (s *Session) Exit(code int) { s.finish(client.Exit{Code: code}) }

// Lose ends the session as a dead coordinator does.
func (s *Session) Lose(err error) { s.finish(client.Lost{Err: err}) }

// Written returns what was typed into it.
func (s *Session) Written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.written)
}

// Sizes returns the sizes it was given after it was opened.
func (s *Session) Sizes() []wire.Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]wire.Size(nil), s.sizes...)
}

// Decisions returns what was decided about its requests.
func (s *Session) Decisions() []views.Decide {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]views.Decide(nil), s.decisions...)
}

// Ended reports whether the close ladder was asked for.
func (s *Session) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Closed reports whether the connection was dropped.
func (s *Session) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Over reports whether its last event has been said.
func (s *Session) Over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
