package coordtest

import (
	"bytes"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
)

// Actor is a client that reads its events in the test's goroutine.
type Actor struct {
	*client.Session
	t testing.TB

	// What was read so far.
	Out, Err bytes.Buffer
	Notices  []client.Notice
	Status   client.Status
}

// Next returns the next event and files it.
func (a *Actor) Next() client.Event {
	a.t.Helper()
	select {
	case e, ok := <-a.Events():
		if !ok {
			a.t.Fatal("events ended without an Exit or Lost")
		}
		a.file(e)
		return e
	case <-time.After(Limit):
		a.t.Fatalf("no event; output so far %q", a.Out.String())
		return nil
	}
}

func (a *Actor) file(e client.Event) {
	switch e := e.(type) {
	case client.Output:
		if e.Stream == wire.StreamStderr {
			a.Err.Write(e.Data)
		} else {
			a.Out.Write(e.Data)
		}
	case client.Notice:
		a.Notices = append(a.Notices, e)
	case client.Status:
		a.Status = e
	}
}

// AwaitOutput reads events until the output contains want.
func (a *Actor) AwaitOutput(want string) {
	a.t.Helper()
	for !bytes.Contains(a.Out.Bytes(), []byte(want)) {
		if e := a.Next(); ended(e) {
			a.t.Fatalf("session ended with %+v before output %q; got %q", e, want, a.Out.String())
		}
	}
}

// Await reads events until one satisfies want, and returns it.
func (a *Actor) Await(want func(client.Event) bool) client.Event {
	a.t.Helper()
	for {
		e := a.Next()
		if want(e) {
			return e
		}
		if ended(e) {
			a.t.Fatalf("session ended with %+v", e)
		}
	}
}

// AwaitStarted reads events until the command runs.
func (a *Actor) AwaitStarted() client.Started {
	a.t.Helper()
	return a.Await(func(e client.Event) bool { _, ok := e.(client.Started); return ok }).(client.Started)
}

// AwaitEnd reads all events and returns the last one.
func (a *Actor) AwaitEnd() client.Event {
	a.t.Helper()
	e := a.Await(ended)
	if next, ok := <-a.Events(); ok {
		a.t.Fatalf("event %+v after the last one", next)
	}
	return e
}

// AwaitExit reads all events and returns the Exit they end with.
func (a *Actor) AwaitExit() client.Exit {
	a.t.Helper()
	e := a.AwaitEnd()
	exit, ok := e.(client.Exit)
	if !ok {
		a.t.Fatalf("session ended with %+v, want an Exit", e)
	}
	return exit
}

func ended(e client.Event) bool {
	switch e.(type) {
	case client.Exit, client.Lost:
		return true
	}
	return false
}
