package views

import (
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
)

// Action is what a view asks for. Only app gives it meaning. Nil means the key did
// nothing that matters outside the view.
type Action interface{ action() }

type intent struct{}

func (intent) action() {}

// Close asks to close the view that returned it.
type Close struct{ intent }

// Open asks for another view.
type Open struct {
	intent
	View ViewName
}

// ViewName names a view that can be opened.
type ViewName string

// The views that can be opened by name.
const (
	ViewFleet    ViewName = "fleet"
	ViewStart    ViewName = "new session"
	ViewInbox    ViewName = "inbox"
	ViewStatus   ViewName = "domain status"
	ViewMessages ViewName = "messages"
	ViewHelp     ViewName = "help"
)

// StartSession asks for a new session in a new pane.
type StartSession struct {
	intent
	Profile string
	Command string // words as in a shell, without its expansions; empty: the profile's command
}

// FocusPane asks to put the keyboard into a pane.
type FocusPane struct {
	intent
	Pane PaneID
}

// ClosePane asks to close a pane, and end its session when it still runs.
type ClosePane struct {
	intent
	Pane PaneID
}

// EndSession asks to end a pane's session by the close ladder and to close the
// pane; the developer has already confirmed.
type EndSession struct {
	intent
	Pane PaneID
}

// RestartPane asks to open a dead pane's session again.
type RestartPane struct {
	intent
	Pane PaneID
}

// Copy asks to put text on the developer's clipboard.
type Copy struct {
	intent
	Text string
}

// Review asks to open the card of a request.
type Review struct {
	intent
	Request domain.RequestID
}

// Decide is the developer's answer to the request a card shows.
type Decide struct {
	intent
	Pending escalate.Pending // exactly what was shown
	Verdict escalate.Verdict
	Argv    []string // set when it was edited
	Reason  string
}

// Confirm asks the developer before doing Then.
type Confirm struct {
	intent
	Question string
	Detail   string
	Yes      string // what saying yes does, for example "end the session"
	Then     Action
}

// Notify asks for a line in the message area.
type Notify struct {
	intent
	Text string
}

// ShowChanges asks for the list of a Domain's changes in the workspace.
type ShowChanges struct {
	intent
	Domain domain.ID
}

// Looked closes that list; the developer has seen all of it.
type Looked struct {
	intent
	Domain domain.ID
	Serial uint64 // of the Changes seen
}

// Quit asks to leave the dashboard, after a question when sessions run.
type Quit struct{ intent }

// Leave ends every session and leaves; the developer has already confirmed.
type Leave struct{ intent }
