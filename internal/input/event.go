package input

// Kind says what an Event is.
type Kind uint8

// The kinds of events.
const (
	Key      Kind = 1 // one key press: Raw is its bytes, Chord(Raw) its name
	Paste    Kind = 2 // a whole bracketed paste: Text is the content, byte-exact
	Mouse    Kind = 3 // a mouse report
	FocusIn  Kind = 4 // the outer terminal gained focus
	FocusOut Kind = 5 // it lost focus
	Reply    Kind = 6 // the outer terminal answered a query: never for a pane
)

// Event is one thing the outer terminal sent. Raw never aliases the bytes fed in.
type Event struct {
	Kind  Kind
	Raw   []byte
	Text  []byte // Paste only
	Over  bool   // Paste only: it went over the limit, Text is empty, refuse it
	Size  int    // Paste only: bytes pasted, also when Over
	Mouse MouseEvent
}

// MouseEvent is a decoded mouse report; X and Y are cells from 0.
type MouseEvent struct {
	X, Y    int
	Button  Button
	Action  Action
	Shift   bool
	Alt     bool
	Control bool
}

// Button is a mouse button.
type Button uint8

// The buttons.
const (
	ButtonNone  Button = 0 // motion without a button
	ButtonLeft  Button = 1
	ButtonMid   Button = 2
	ButtonRight Button = 3
	WheelUp     Button = 4
	WheelDown   Button = 5
	WheelLeft   Button = 6
	WheelRight  Button = 7
	ButtonExtra Button = 8 // buttons 8 to 11 of the protocol
)

// Action is what happened to the button.
type Action uint8

// The actions.
const (
	Press   Action = 1
	Release Action = 2
	Motion  Action = 3
)
