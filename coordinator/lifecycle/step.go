package lifecycle

import "lazaret.dev/lazaret/internal/domain"

// Phase is where a generation is in its life.
type Phase uint8

// The phases, in the only order they are passed.
const (
	Starting Phase = 1
	Running  Phase = 2
	Stopping Phase = 3
	Ended    Phase = 4
)

// State is the desired state of a generation. Sessions is never modified in
// place, so a State may be kept and compared.
type State struct {
	Phase    Phase
	Sessions []domain.SessionID // admitted and not yet gone
	Lost     string             // why the sandbox ended by itself; empty when it did not
}

// Initial is the state of a generation that has acquired nothing.
func Initial() State { return State{Phase: Starting} }

// Event is something that happened.
type Event any

// The events.
type (
	// Launched says the sandbox runs and the coordinator can be reached.
	Launched struct{}
	// LaunchFailed says nothing of the generation is left.
	LaunchFailed struct{}
	// Asked is a greeted client that wants session ID.
	Asked struct{ ID domain.SessionID }
	// Gone is a session all of whose parts are released.
	Gone struct{ ID domain.SessionID }
	// NobodyCame says the time for the first client is over.
	NobodyCame struct{}
	// SandboxEnded says the sandbox ended by itself.
	SandboxEnded struct{ Reason string }
	// Shutdown is a request to end, whoever is attached.
	Shutdown struct{}
	// Stopped says the sandbox was stopped and its proof taken.
	Stopped struct{}
)

// Effect is something the coordinator now has to do.
type Effect any

// The effects, in the order Step returns them.
type (
	// Admit lets session ID in.
	Admit struct{ ID domain.SessionID }
	// Refuse turns session ID away.
	Refuse struct {
		ID  domain.SessionID
		Why Refusal
	}
	// Unpublish takes the socket away, so that nobody new arrives.
	Unpublish struct{}
	// LoseAll tells every session that the sandbox is gone.
	LoseAll struct{ Reason string }
	// CloseAll starts every session's close ladder.
	CloseAll struct{}
	// Stop ends the sandbox; Stopped follows. It comes once, and only when no
	// session is left.
	Stop struct{}
	// Release lets everything else of the generation go and ends the coordinator.
	Release struct{}
)

// Refusal is why a session is not admitted.
type Refusal uint8

// The refusals.
const (
	// TooEarly and TooLate mean: try again, with the coordinator that follows.
	TooEarly Refusal = 1
	TooLate  Refusal = 2
	TooMany  Refusal = 3
)

// MaxSessions bounds the sessions of one Domain.
const MaxSessions = 64

// Step returns the state after event and what it asks for. It is total: an event
// that cannot matter in a state changes nothing.
func Step(s State, event Event) (State, []Effect) {
	switch e := event.(type) {
	case Launched:
		if s.Phase == Starting {
			s.Phase = Running
		}
	case LaunchFailed:
		if s.Phase == Starting {
			return State{Phase: Ended}, []Effect{Release{}}
		}
	case Asked:
		return ask(s, e.ID)
	case Gone:
		return gone(s, e.ID)
	case NobodyCame:
		if s.Phase == Running && len(s.Sessions) == 0 {
			return stopping(s, nil)
		}
	case SandboxEnded:
		if s.Phase == Running || s.Phase == Stopping && s.Lost == "" && len(s.Sessions) > 0 {
			s.Lost = e.Reason
			return stopping(s, LoseAll(e))
		}
	case Shutdown:
		if s.Phase == Running {
			return stopping(s, CloseAll{})
		}
	case Stopped:
		if s.Phase == Stopping && len(s.Sessions) == 0 {
			s.Phase = Ended
			return s, []Effect{Release{}}
		}
	}
	return s, nil
}

func ask(s State, id domain.SessionID) (State, []Effect) {
	refuse := func(why Refusal) (State, []Effect) { return s, []Effect{Refuse{id, why}} }
	switch {
	case s.Phase == Starting:
		return refuse(TooEarly)
	case s.Phase != Running:
		return refuse(TooLate)
	case len(s.Sessions) >= MaxSessions:
		return refuse(TooMany)
	}
	s.Sessions = append(append([]domain.SessionID(nil), s.Sessions...), id)
	return s, []Effect{Admit{id}}
}

// gone removes a session. The last one to go takes the Domain with it.
func gone(s State, id domain.SessionID) (State, []Effect) {
	var left []domain.SessionID
	for _, other := range s.Sessions {
		if other != id {
			left = append(left, other)
		}
	}
	if len(left) == len(s.Sessions) {
		return s, nil
	}
	s.Sessions = left
	if len(left) > 0 {
		return s, nil
	}
	if s.Phase == Stopping {
		return s, []Effect{Stop{}}
	}
	return stopping(s, nil)
}

// stopping enters Stopping, tells the sessions, and stops the sandbox at once
// when there are none.
func stopping(s State, tell Effect) (State, []Effect) {
	var effects []Effect
	if s.Phase != Stopping {
		effects = append(effects, Unpublish{})
	}
	s.Phase = Stopping
	if len(s.Sessions) == 0 {
		return s, append(effects, Stop{})
	}
	if tell != nil {
		effects = append(effects, tell)
	}
	return s, effects
}
