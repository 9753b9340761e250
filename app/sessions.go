package app

import (
	"context"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/views"
)

// Sessions opens sessions. Open may take minutes (an image may have to be fetched)
// and calls progress with the name of each step as it begins, from any goroutine.
// Its methods may overlap.
type Sessions interface {
	Open(ctx context.Context, req OpenRequest, progress func(step string)) (Attachment, error)
	Profiles() []views.ProfileInfo
}

// OpenRequest says which session to open.
type OpenRequest struct {
	Profile   string
	Workspace string
	Argv      []string // empty: the profile's command
	Size      wire.Size
}

// Attachment is one open session; *client.Session is one. Events is closed after an
// Exit or a Lost. Write keeps order and may block; the dashboard calls it from one
// goroutine.
type Attachment interface {
	Welcome() wire.Welcome
	Events() <-chan client.Event
	Write(p []byte) (int, error)
	Resize(size wire.Size) error
	// Decide signs and sends a decision about a request of this session; argv is
	// set when the developer edited it.
	Decide(p escalate.Pending, verdict escalate.Verdict, argv []string, reason string) error
	// End asks for the close ladder; the Exit follows.
	End() error
	// Close drops the connection.
	Close() error
}

var _ Attachment = (*client.Session)(nil)
