// Package fault is the error a person sees: what went wrong, what to do about it,
// and the exit code that says which kind it was. Only cmd and views render it.
package fault

import "errors"

// Kind groups failures; its value is the process's exit code. Commands run by
// `lazaret run` use the codes below 120 and above 125 for themselves.
type Kind int

// The exit codes of `lazaret`, documented in docs/exit-codes.md.
const (
	General   Kind = 1   // anything not listed below
	Usage     Kind = 2   // unknown flag, command or argument
	Config    Kind = 120 // configuration refused
	Host      Kind = 121 // this host lacks something Lazaret needs
	Image     Kind = 122 // image could not be fetched, vetted or unpacked
	Conflict  Kind = 123 // the Domain runs with another configuration
	Workspace Kind = 124 // workspace or Domain unavailable
	Sandbox   Kind = 125 // sandbox not started, or ended under the session
)

// Error is a failure with its remedy.
type Error struct {
	Kind    Kind
	Message string // names the thing that is wrong
	Fix     string // what to do; may be empty, may have several lines
	Err     error  // cause, may be nil
}

// Error returns the message and its cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain, else General.
func KindOf(err error) Kind {
	var f *Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return General
}

// FixOf returns the remedy of the first Error in err's chain that has one.
func FixOf(err error) string {
	for err != nil {
		var f *Error
		if !errors.As(err, &f) {
			return ""
		}
		if f.Fix != "" {
			return f.Fix
		}
		err = f.Err
	}
	return ""
}
