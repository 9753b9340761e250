package lifecycle_test

import (
	"fmt"
	"reflect"
	"testing"

	. "lazaret.dev/lazaret/coordinator/lifecycle" //nolint:revive // the test reads as the table of steps it is
	"lazaret.dev/lazaret/internal/domain"
)

func ids(names ...string) (out []domain.SessionID) {
	for _, n := range names {
		out = append(out, domain.SessionID(n))
	}
	return out
}

func TestStep(t *testing.T) {
	t.Parallel()
	running := func(names ...string) State { return State{Phase: Running, Sessions: ids(names...)} }
	full := State{Phase: Running}
	for i := range MaxSessions {
		full.Sessions = append(full.Sessions, domain.SessionID(fmt.Sprint(i)))
	}
	for _, c := range []struct {
		name    string
		state   State
		event   Event
		want    State
		effects []Effect
	}{
		{"launch", Initial(), Launched{}, running(), nil},
		{"launch fails", Initial(), LaunchFailed{}, State{Phase: Ended}, []Effect{Release{}}},
		{"too early", Initial(), Asked{"a"}, Initial(), []Effect{Refuse{"a", TooEarly}}},
		{"first session", running(), Asked{"a"}, running("a"), []Effect{Admit{"a"}}},
		{"second session", running("a"), Asked{"b"}, running("a", "b"), []Effect{Admit{"b"}}},
		{"one too many", full, Asked{"x"}, full, []Effect{Refuse{"x", TooMany}}},
		{"one of two goes", running("a", "b"), Gone{"a"}, running("b"), nil},
		{"unknown goes", running("a"), Gone{"x"}, running("a"), nil},
		{"last goes", running("a"), Gone{"a"}, State{Phase: Stopping}, []Effect{Unpublish{}, Stop{}}},
		{"nobody came", running(), NobodyCame{}, State{Phase: Stopping}, []Effect{Unpublish{}, Stop{}}},
		{"somebody came", running("a"), NobodyCame{}, running("a"), nil},
		{"sandbox ends", running("a"), SandboxEnded{"x"}, State{Phase: Stopping, Sessions: ids("a"), Lost: "x"},
			[]Effect{Unpublish{}, LoseAll{"x"}}},
		{"sandbox ends alone", running(), SandboxEnded{"x"}, State{Phase: Stopping, Lost: "x"}, []Effect{Unpublish{}, Stop{}}},
		{"shutdown", running("a"), Shutdown{}, State{Phase: Stopping, Sessions: ids("a")}, []Effect{Unpublish{}, CloseAll{}}},
		{"last goes while stopping", State{Phase: Stopping, Sessions: ids("a")}, Gone{"a"}, State{Phase: Stopping}, []Effect{Stop{}}},
		{"sandbox ends during shutdown", State{Phase: Stopping, Sessions: ids("a")}, SandboxEnded{"x"},
			State{Phase: Stopping, Sessions: ids("a"), Lost: "x"}, []Effect{LoseAll{"x"}}},
		{"sandbox ends because it is stopped", State{Phase: Stopping}, SandboxEnded{"x"}, State{Phase: Stopping}, nil},
		{"too late", State{Phase: Stopping}, Asked{"a"}, State{Phase: Stopping}, []Effect{Refuse{"a", TooLate}}},
		{"stopped", State{Phase: Stopping}, Stopped{}, State{Phase: Ended}, []Effect{Release{}}},
	} {
		state, effects := Step(c.state, c.event)
		if !reflect.DeepEqual(state, c.want) || !reflect.DeepEqual(effects, c.effects) {
			t.Errorf("%s: got %+v %+v, want %+v %+v", c.name, state, effects, c.want, c.effects)
		}
	}
}

// TestExplore walks every order of events a server can meet with two sessions
// and checks what must hold in all of them.
func TestExplore(t *testing.T) {
	t.Parallel()
	e := explorer{t: t, seen: map[string]bool{}}
	e.visit(world{state: Initial()})
	if len(e.seen) < 40 || !e.ended {
		t.Fatalf("explored only %d worlds (ended: %v)", len(e.seen), e.ended)
	}
}

// world is a state with what its effects have done to the outside.
type world struct {
	state                           State
	live                            string // sessions admitted and not gone
	asked                           string
	unpublished, stopping, stopDone bool
	released                        bool
}

type explorer struct {
	t     *testing.T
	seen  map[string]bool
	ended bool
}

func (e *explorer) visit(w world) {
	key := fmt.Sprintf("%+v", w)
	if e.seen[key] {
		return
	}
	e.seen[key] = true
	if w.released {
		e.ended = true
	}
	moved := false
	for _, event := range w.possible() {
		moved = true
		e.visit(e.apply(w, event))
	}
	if !moved && !w.released {
		e.t.Errorf("stuck in %+v", w)
	}
}

// possible is what the outside can do next.
func (w world) possible() (events []Event) {
	if w.released {
		return nil
	}
	if w.state.Phase == Starting {
		return []Event{Launched{}, LaunchFailed{}, Asked{"a"}, Shutdown{}}
	}
	for _, id := range []string{"a", "b"} {
		if !contains(w.asked, id) && !w.unpublished {
			events = append(events, Asked{domain.SessionID(id)})
		}
		if contains(w.live, id) {
			events = append(events, Gone{domain.SessionID(id)})
		}
	}
	if w.stopping && !w.stopDone {
		events = append(events, Stopped{})
	}
	return append(events, NobodyCame{}, SandboxEnded{"x"}, Shutdown{})
}

func (e *explorer) apply(w world, event Event) world {
	e.t.Helper()
	next, effects := Step(w.state, event)
	if next.Phase < w.state.Phase {
		e.t.Errorf("%T took phase %d back to %d", event, w.state.Phase, next.Phase)
	}
	switch ev := event.(type) {
	case Asked:
		if w.state.Phase != Starting {
			w.asked += string(ev.ID)
		}
	case Gone:
		w.live = remove(w.live, string(ev.ID))
	case Stopped:
		w.stopDone = true
	}
	w.state = next
	for _, effect := range effects {
		e.effect(&w, effect)
	}
	return w
}

func (e *explorer) effect(w *world, effect Effect) {
	switch f := effect.(type) {
	case Admit:
		if w.unpublished {
			e.t.Error("admitted after unpublishing")
		}
		w.live += string(f.ID)
	case Unpublish:
		if w.unpublished {
			e.t.Error("unpublished twice")
		}
		w.unpublished = true
	case Stop:
		if w.stopping || w.live != "" || !w.unpublished {
			e.t.Errorf("stop in %+v", *w)
		}
		w.stopping = true
	case Release:
		if w.live != "" || w.stopping != w.stopDone {
			e.t.Errorf("release in %+v", *w)
		}
		w.released = true
	}
}

func contains(s, id string) bool { return remove(s, id) != s }

func remove(s, id string) string {
	for i := range s {
		if s[i:i+1] == id {
			return s[:i] + s[i+1:]
		}
	}
	return s
}
