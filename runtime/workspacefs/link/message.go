package link

import (
	"errors"

	"lazaret.dev/lazaret/internal/fault"
)

// Kind says what a message is.
type Kind uint8

// The kinds. Their numbers are fixed: they leave the process.
const (
	KindStart  Kind = 1
	KindStep   Kind = 32 // Text names what begins
	KindReady  Kind = 33 // both connections answer
	KindMount  Kind = 34 // one directory of Domain storage belongs at Path
	KindFailed Kind = 35 // Text, Fix and Code (a fault.Kind) say why
	KindGit    Kind = 36 // Git is a git directory of the host; before ready
	// KindChanged says that the guest is to be poked for Path, "." for the top; after ready.
	KindChanged Kind = 37
)

// Message is every message; what a kind does not use is zero. Paths are bytes: names
// of files need not be text.
type Message struct {
	Kind Kind   `cbor:"1,keyasint"`
	Text string `cbor:"2,keyasint"`
	Fix  string `cbor:"3,keyasint"`
	Code int32  `cbor:"4,keyasint"`
	Path []byte `cbor:"5,keyasint"` // relative to the workspace
	Git  Git    `cbor:"6,keyasint"`
}

// Git is one git directory of the host.
type Git struct {
	// Name is its name in the root of the git connection, or in that of its own
	// connection when it is one outside the workspace.
	Name []byte `cbor:"1,keyasint"`
	// Path is where it belongs, relative to the workspace. It is empty for one outside,
	// whose place in Resources.GitDirs is Outside-1.
	Path    []byte `cbor:"2,keyasint"`
	Outside uint32 `cbor:"3,keyasint"`
	// Watch are files in it that decide something, whether or not the sandbox ever looks
	// at them. RS keeps their directories in use.
	Watch [][]byte `cbor:"4,keyasint"`
}

// maxText bounds the texts of a message, in bytes.
const maxText = 4 << 10

// Failure is the message for an error that ends the start.
func Failure(err error) Message {
	m := Message{Kind: KindFailed, Text: clip(err.Error()), Fix: clip(fault.FixOf(err))}
	var f *fault.Error
	if errors.As(err, &f) {
		m.Code = int32(f.Kind)
	}
	return m
}

// Err is the inverse of Failure.
func (m Message) Err() error {
	if m.Code == 0 {
		return errors.New(m.Text)
	}
	return &fault.Error{Kind: fault.Kind(m.Code), Message: m.Text, Fix: m.Fix}
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return s[:maxText] + "…"
}
