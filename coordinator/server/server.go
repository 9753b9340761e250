package server

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net"
	"sync"
	"time"

	"lazaret.dev/lazaret/coordinator/lifecycle"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/session"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// Desk owns the pending requests of the Domain.
type Desk interface {
	AddSession(id domain.SessionID, anchor ed25519.PublicKey, sink Sink)
	RemoveSession(id domain.SessionID)
	Decide(id domain.SessionID, d escalate.SignedDecision) error
	Close()
}

// Sink is where the desk tells one session about its requests. It never waits.
type Sink interface {
	Pending(escalate.Pending)
	Resolved(domain.RequestID, escalate.Outcome, string)
	AbortSession(reason string)
}

// Carrier brings the agent's login into the sandbox and takes it out again, so
// that one login serves every Domain of a profile.
type Carrier interface {
	Bring(context.Context, runtime.Sandbox) error
	Take(context.Context, runtime.Sandbox) error
}

// Config makes a Server.
type Config struct {
	Plan       plan.Plan
	Generation domain.Generation
	Sandbox    runtime.Sandbox
	Listener   net.Listener
	// Unpublish closes and removes what clients find the coordinator by.
	Unpublish func()
	Desk      Desk // nil when escalation is off
	// Capability returns the session's request capability; nil without a desk.
	Capability func(domain.SessionID) (string, error)
	Carrier    Carrier // nil when the profile carries no login

	Grace session.Grace
	// FirstClient is how long the coordinator waits for its first session.
	FirstClient time.Duration
	// PeerUID returns the user at the other end of a connection.
	PeerUID func(net.Conn) (int, error)
	UID     int // whom to serve

	Log     *slog.Logger
	LogPath string
}

// Server serves one live generation.
type Server struct {
	cfg     Config
	started time.Time
	install *installer
	// launched is the sandbox's status before anyone was served: what changed
	// since then has to be told.
	launched runtime.Status

	mu       sync.Mutex
	state    lifecycle.State
	members  map[domain.SessionID]*member
	released chan struct{}

	slots    chan struct{} // bounds open connections
	handlers sync.WaitGroup
	stopping context.Context // ends when the generation is being torn down hard
	hardStop context.CancelFunc
}

const (
	// maxConnections bounds greeted and ungreeted connections together.
	maxConnections = 2 * lifecycle.MaxSessions
	// greetTimeout is how long a connection may take to say who it is.
	greetTimeout = 10 * time.Second
)

// New makes a server for a sandbox that runs.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg, started: time.Now(), launched: cfg.Sandbox.Status(),
		state:    lifecycle.Initial(),
		members:  map[domain.SessionID]*member{},
		released: make(chan struct{}),
		slots:    make(chan struct{}, maxConnections),
	}
	s.install = newInstaller(s)
	s.stopping, s.hardStop = context.WithCancel(context.Background())
	return s
}

// Run serves until the Domain has ended. Cancelling ctx closes every session
// first. When it returns the sandbox is stopped and every goroutine of the server
// is gone.
func (s *Server) Run(ctx context.Context) {
	s.step(lifecycle.Launched{})
	s.handlers.Go(s.accept)
	s.handlers.Go(s.watchSandbox)
	first := time.AfterFunc(s.cfg.FirstClient, func() { s.step(lifecycle.NobodyCame{}) })
	defer first.Stop()
	stop := context.AfterFunc(ctx, func() { s.step(lifecycle.Shutdown{}) })
	defer stop()
	<-s.released
	s.hardStop()
	s.handlers.Wait()
}

// step applies one event and does what follows. It may be called from anywhere.
func (s *Server) step(event lifecycle.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepLocked(event)
}

func (s *Server) stepLocked(event lifecycle.Event) []lifecycle.Effect {
	before := s.state.Phase
	var effects []lifecycle.Effect
	s.state, effects = lifecycle.Step(s.state, event)
	if s.state.Phase != before {
		s.cfg.Log.Info("lifecycle", "phase", s.state.Phase, "sessions", len(s.state.Sessions), "event", eventName(event))
	}
	for _, effect := range effects {
		s.do(effect)
	}
	return effects
}

// do starts an effect; none of them waits. Admit and Refuse are for the caller
// that asked.
func (s *Server) do(effect lifecycle.Effect) {
	switch f := effect.(type) {
	case lifecycle.Unpublish:
		s.cfg.Unpublish()
	case lifecycle.LoseAll:
		for _, m := range s.members {
			m.session.Lose(f.Reason)
		}
	case lifecycle.CloseAll:
		for _, m := range s.members {
			m.session.End()
		}
	case lifecycle.Stop:
		s.handlers.Go(s.stop)
	case lifecycle.Release:
		close(s.released)
	}
}

// admit asks the lifecycle to let m in.
func (s *Server) admit(m *member) (lifecycle.Refusal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, effect := range s.stepLocked(lifecycle.Asked{ID: m.id}) {
		if refuse, ok := effect.(lifecycle.Refuse); ok {
			return refuse.Why, false
		}
	}
	s.members[m.id] = m
	return 0, true
}

// remove takes a session that is entirely gone off the list, and with the last
// one the Domain goes.
func (s *Server) remove(m *member) {
	s.mu.Lock()
	delete(s.members, m.id)
	s.stepLocked(lifecycle.Gone{ID: m.id})
	s.mu.Unlock()
	s.pushStatus()
}
