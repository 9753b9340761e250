package app

import (
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/views"
)

// The messages of the model. Each is one thing that happened outside Update.
type (
	// InputMsg is bytes of the developer's terminal, in order.
	InputMsg []byte
	// SizeMsg is the size of the developer's terminal.
	SizeMsg struct{ W, H int }
	// ResumedMsg says that the dashboard is in the foreground again.
	ResumedMsg struct{}
	// HangupMsg asks to leave at once, without questions.
	HangupMsg struct{}

	// continuedMsg says that the process runs again after it was stopped.
	continuedMsg struct{}

	inputLateMsg struct{ seq int } // an unfinished key sequence has waited long enough
	frameMsg     struct{}          // the frame limit allows the next picture
	clockMsg     struct{}          // something that depends on time may look different now

	progressMsg struct {
		pane views.PaneID
		try  int
		step string
	}
	openedMsg struct {
		pane views.PaneID
		try  int
		att  Attachment
		err  error
	}
	outputMsg struct{ pane views.PaneID }
	askMsg    struct {
		pane   views.PaneID
		events []term.Event
	}
	sessionMsg struct {
		pane  views.PaneID
		try   int
		event client.Event
	}
	decidedMsg struct {
		request domain.RequestID
		err     error
	}
	leaveMsg struct{} // ending the sessions took too long
)
