package wire

import (
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
)

// Version is the protocol version of this build. Both ends must have the same.
const Version = 1

// MaxFrame is the longest frame either end accepts, kind byte included.
const MaxFrame = 1 << 20

// MaxChunk is the most terminal bytes one Input or Output message carries.
const MaxChunk = 32 << 10

// Kind says what message a frame carries.
type Kind uint8

// Messages of a client.
const (
	KindHello    Kind = 1
	KindStart    Kind = 2
	KindInput    Kind = 3
	KindInputEOF Kind = 4
	KindResize   Kind = 5
	KindSignal   Kind = 6
	KindClose    Kind = 7
	KindDecide   Kind = 8
	KindQuery    Kind = 9
)

// Messages of the coordinator.
const (
	KindWelcome     Kind = 64
	KindStarted     Kind = 65
	KindOutput      Kind = 66
	KindExit        Kind = 67
	KindRefused     Kind = 68
	KindPending     Kind = 69
	KindResolved    Kind = 70
	KindStatus      Kind = 71
	KindNotice      Kind = 72
	KindInputCredit Kind = 73
)

// Purpose is what a connection is for.
type Purpose uint8

const (
	// PurposeSession is one Client Session; it holds the Domain up.
	PurposeSession Purpose = 1
	// PurposeQuery asks one Query and holds nothing up.
	PurposeQuery Purpose = 2
)

// Hello is the first message of every connection.
type Hello struct {
	Version uint32          `cbor:"1,keyasint"`
	Purpose Purpose         `cbor:"2,keyasint"`
	Client  domain.ClientID `cbor:"3,keyasint"`
	Domain  domain.ID       `cbor:"4,keyasint"`
	// Fingerprint is the Configuration Fingerprint the client would start the
	// Domain with. A session joins only when it is the Domain's own.
	Fingerprint []byte `cbor:"5,keyasint"`
	// Facts are the named inputs of Fingerprint, so that a refusal can say what
	// differs.
	Facts []Fact `cbor:"6,keyasint"`
	// Anchor is the Session Anchor's Ed25519 public key; empty for a query.
	Anchor []byte `cbor:"7,keyasint"`
}

// Fact is one named configuration input, rendered for a person.
type Fact struct {
	Name  string `cbor:"1,keyasint"`
	Value string `cbor:"2,keyasint"`
}

// Start asks for the session's command.
type Start struct {
	Argv []string `cbor:"1,keyasint"` // empty: the profile's command
	Env  []string `cbor:"2,keyasint"` // TERM and the like, "NAME=value"
	Dir  string   `cbor:"3,keyasint"` // guest directory; empty: the workspace
	TTY  bool     `cbor:"4,keyasint"`
	Size Size     `cbor:"5,keyasint"`
	Name string   `cbor:"6,keyasint"` // the developer's name for it, may be empty
}

// Size is a terminal size in cells; both are at least 1 for a TTY session.
type Size struct {
	Rows uint16 `cbor:"1,keyasint"`
	Cols uint16 `cbor:"2,keyasint"`
}

// Input is bytes for the session's terminal or standard input, at most MaxChunk.
type Input struct {
	Data []byte `cbor:"1,keyasint"`
}

// InputEOF ends the standard input of a session without a terminal.
type InputEOF struct{}

// Resize is the client's new terminal size.
type Resize struct {
	Size Size `cbor:"1,keyasint"`
}

// Signal is one of the three terminal events a client without a guest terminal
// can send.
type Signal struct {
	Event SignalEvent `cbor:"1,keyasint"`
}

// SignalEvent is a terminal event.
type SignalEvent uint8

// The terminal events of S2 §3.3.
const (
	EventInterrupt SignalEvent = 1
	EventQuit      SignalEvent = 2
	EventSuspend   SignalEvent = 3
)

// Close asks for the close ladder: HUP, TERM, KILL to the whole session.
type Close struct{}

// Decide carries a signed decision about a pending request of this session.
type Decide struct {
	Decision escalate.SignedDecision `cbor:"1,keyasint"`
}

// Query asks for the Domain's status on a PurposeQuery connection.
type Query struct{}

// Welcome answers Hello.
type Welcome struct {
	Version    uint32            `cbor:"1,keyasint"`
	Generation domain.Generation `cbor:"2,keyasint"`
	Session    domain.SessionID  `cbor:"3,keyasint"` // empty for a query
	Profile    string            `cbor:"4,keyasint"`
	Workspace  string            `cbor:"5,keyasint"`
}

// Started says the session's command runs.
type Started struct {
	Argv []string `cbor:"1,keyasint"`
}

// Stream says where output came from.
type Stream uint8

// A session with a terminal has one merged stream, StreamTTY.
const (
	StreamTTY    Stream = 1
	StreamStdout Stream = 2
	StreamStderr Stream = 3
)

// Output is bytes of the session, at most MaxChunk.
type Output struct {
	Stream Stream `cbor:"1,keyasint"`
	Data   []byte `cbor:"2,keyasint"`
}

// Exit is the last message of a session.
type Exit struct {
	Code   int    `cbor:"1,keyasint"` // 128+n for signal n
	Lost   bool   `cbor:"2,keyasint"` // the sandbox ended under the session
	Reason string `cbor:"3,keyasint"` // why, when Lost
}

// InputCredit gives a session the right to send that many more input bytes, so
// that a program that does not read cannot make the coordinator buffer.
type InputCredit struct {
	Bytes uint32 `cbor:"1,keyasint"`
}

// Pending shows a request that waits for a decision of this session's client.
type Pending struct {
	Pending escalate.Pending `cbor:"1,keyasint"`
}

// Resolved says a request no longer waits, and how it ended.
type Resolved struct {
	Request domain.RequestID `cbor:"1,keyasint"`
	Outcome escalate.Outcome `cbor:"2,keyasint"`
	Detail  string           `cbor:"3,keyasint"` // exit status, reason of denial
}

// Notice is one line for the developer.
type Notice struct {
	Level Level  `cbor:"1,keyasint"`
	Text  string `cbor:"2,keyasint"`
}

// Level is how grave a notice is.
type Level uint8

// The levels of a notice.
const (
	LevelInfo    Level = 1
	LevelWarning Level = 2
	LevelError   Level = 3
)
