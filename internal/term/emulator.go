package term

import "lazaret.dev/lazaret/internal/frame"

// Emulator is one pane's terminal. It has a single user; it is not safe for
// concurrent use. Whatever bytes it is given, it neither panics, hangs, nor grows
// beyond its caps.
type Emulator interface {
	// Write feeds output of the program. It always takes all of p.
	Write(p []byte)
	// TakeReplies returns what the terminal answers to queries since the last
	// call, to be written to the program's input; bounded.
	TakeReplies() []byte
	// Resize changes the screen; both sizes are at least 1.
	Resize(cols, rows int)
	// Frame returns the visible screen, offset lines up in the scrollback (0 is
	// live). The grid is the caller's to keep. While the program holds a
	// synchronized update (mode 2026) it is the last complete screen.
	Frame(offset int) *frame.Grid
	// ScrollbackLen is how many lines lie above the live screen.
	ScrollbackLen() int
	// Line returns one line of history and screen as text: 0 is the oldest line
	// of the scrollback, ScrollbackLen() the top of the live screen.
	Line(n int) string
	// Modes are the input modes the program has set.
	Modes() Modes
	// Title is the program's title, sanitised.
	Title() string
	// TakeEvents returns what the program asked of the developer since the last
	// call (bell, notification, clipboard); bounded.
	TakeEvents() []Event
}

// Modes are the terminal modes that change how input must be sent.
type Modes struct {
	AltScreen, AppCursor, AppKeypad, BracketedPaste, FocusEvents bool
	Synchronized                                                 bool // mode 2026 is held
	Mouse                                                        MouseMode
	MouseSGR                                                     bool
	KittyFlags                                                   int
	ModifyOtherKeys                                              int
}

// MouseMode is which mouse reports the program wants.
type MouseMode uint8

// The mouse modes, in growing order of what is reported.
const (
	MouseOff    MouseMode = 0
	MouseClick  MouseMode = 1 // mode 1000
	MouseDrag   MouseMode = 2 // mode 1002
	MouseMotion MouseMode = 3 // mode 1003
)

// Event is something the program asked of the developer.
type Event struct {
	Kind EventKind
	Text string // sanitised, except what a clipboard write is to put there
}

// EventKind says what an Event asks.
type EventKind uint8

// The kinds of events.
const (
	EventBell      EventKind = 1
	EventNotify    EventKind = 2 // OSC 9, OSC 777
	EventClipboard EventKind = 3 // OSC 52 write; Text is the decoded content, as the program gave it
	EventStatus    EventKind = 4 // OSC 7501 or 9;4: what the program says it is doing, a hint
)
