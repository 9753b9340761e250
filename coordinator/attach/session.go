package attach

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
)

// Session is the session to attach to; *client.Session is the real one.
type Session interface {
	Events() <-chan client.Event
	Write([]byte) (int, error)
	CloseInput() error
	Resize(wire.Size) error
	Signal(wire.SignalEvent) error
	Decide(p escalate.Pending, verdict escalate.Verdict, argv []string, reason string) error
	End() error
	Close() error
}

// status turns a session's last event into the exit status of the command, or
// into the error to show.
func status(last client.Event) (int, error) {
	switch e := last.(type) {
	case client.Exit:
		if !e.Lost {
			return e.Code, nil
		}
		return e.Code, &fault.Error{Kind: fault.Sandbox, Message: "the sandbox ended under the session",
			Err: errors.New(term.Sanitize(e.Reason)), Fix: "start it again; lazaret ps shows the log's path while a Domain lives"}
	case client.Lost:
		return 0, lost(e.Err)
	default:
		// Asked twice to end, the session drops its connection and hears no more.
		return 0, &fault.Error{Kind: fault.Sandbox, Message: "the session was left before it had ended",
			Err: errors.New("asked again to end; one at its limit of processes takes its time"),
			Fix: "the coordinator ends what runs; lazaret ps shows whether its Domain still lives"}
	}
}

func lost(err error) error {
	var refused *wire.Refused
	if errors.As(err, &refused) {
		return &fault.Error{Kind: fault.Sandbox, Message: term.Sanitize(refused.Message), Fix: term.Sanitize(refused.Fix)}
	}
	return &fault.Error{Kind: fault.Sandbox, Message: "the connection to the session was lost", Err: err,
		Fix: "the command inside was ended; start it again"}
}

// noticeLine is a notice as one line for standard error.
func noticeLine(n client.Notice) string {
	level := ""
	switch n.Level {
	case wire.LevelWarning:
		level = "warning: "
	case wire.LevelError:
		level = "error: "
	}
	return "lazaret: " + level + term.Sanitize(n.Text)
}

// eventOf maps a signal to this process to the terminal event it stands for.
func eventOf(sig unix.Signal) (wire.SignalEvent, bool) {
	switch sig {
	case unix.SIGINT:
		return wire.EventInterrupt, true
	case unix.SIGQUIT:
		return wire.EventQuit, true
	}
	return 0, false
}

// resolvedLine says how a request ended.
func resolvedLine(r client.Resolved) string {
	what := map[escalate.Outcome]string{
		escalate.OutcomeRan: "ran on the host", escalate.OutcomeDenied: "was denied",
		escalate.OutcomeExpired: "was denied: nobody decided in time", escalate.OutcomeCancelled: "was withdrawn",
		escalate.OutcomeFailed: "could not be started", escalate.OutcomeRefused: "was refused",
		escalate.OutcomeRunning: "was approved and runs",
	}[r.Outcome]
	line := fmt.Sprintf("lazaret: request %.8s %s", r.Request, what)
	if r.Detail != "" {
		line += " (" + term.Sanitize(r.Detail) + ")"
	}
	return line
}
