package session

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// Host is what a session needs of the coordinator it lives in.
type Host interface {
	// Prepare completes start before the command runs; it may take long (the
	// profile's install step) and may tell the client about it through notify.
	Prepare(ctx context.Context, start wire.Start, notify func(wire.Notice)) (runtime.ExecSpec, error)
	// Exec starts the command.
	Exec(ctx context.Context, spec runtime.ExecSpec) (runtime.Process, error)
	// Decide takes a signed decision of this session's client.
	Decide(escalate.SignedDecision) error
	// Changed is called when the session's command or state changed.
	Changed(State)
}

// State is what the coordinator shows of a session.
type State struct {
	Argv    []string
	TTY     bool
	Name    string
	Started time.Time // zero until the command runs
}

// Config makes a Session.
type Config struct {
	ID    domain.SessionID
	Conn  net.Conn // greeted already; the session closes it
	Host  Host
	Grace Grace
	Log   *slog.Logger
}

// Session is one Client Session.
type Session struct {
	cfg Config
	out *outbox
	in  *inbox

	messages chan wire.Message // reader → loop; the reader waits when it is full
	hungUp   chan struct{}     // closed by the reader: the client is gone
	calls    chan func()       // loop → worker; full means the sandbox is stuck

	endOnce sync.Once
	endNow  chan struct{} // closed by End
	lost    chan string   // Lose → loop, one reason
}

const (
	messageQueue = 16
	callQueue    = 16
	// callTimeout bounds one signal to the sandbox.
	callTimeout = 5 * time.Second
)

// New makes a session; Run runs it.
func New(cfg Config) *Session {
	return &Session{
		cfg: cfg, out: newOutbox(), in: newInbox(),
		messages: make(chan wire.Message, messageQueue),
		hungUp:   make(chan struct{}),
		calls:    make(chan func(), callQueue),
		endNow:   make(chan struct{}),
		lost:     make(chan string, 1),
	}
}

// Send queues a message that is not output for the client. It never waits; a
// client that lets too many pile up is dropped.
func (s *Session) Send(m wire.Message) {
	if !s.out.put(m) {
		s.cfg.Log.Warn("client does not read; dropping it", "session", s.cfg.ID)
		s.cfg.Conn.Close()
	}
}

// End starts the close ladder.
func (s *Session) End() { s.endOnce.Do(func() { close(s.endNow) }) }

// Lose says that the sandbox ended under the session, and why.
func (s *Session) Lose(reason string) {
	select {
	case s.lost <- reason:
	default: // a reason is there already
	}
}

// Run serves the session and returns when its command, its terminal and its
// connection are gone.
func (s *Session) Run(ctx context.Context) {
	var helpers sync.WaitGroup
	helpers.Go(s.read)
	helpers.Go(s.writeOut)
	helpers.Go(s.work)
	l := &loop{Session: s}
	last := l.run(ctx)
	s.in.close()
	s.out.finish(last)
	s.awaitWriter(ctx, l.hurried)
	close(s.calls)
	s.cfg.Conn.Close()
	helpers.Wait()
}

// read is the reader goroutine. Input goes past the loop, straight to the inbox,
// where credit bounds it.
func (s *Session) read() {
	defer close(s.hungUp)
	defer s.in.end()
	for {
		m, err := wire.Read(s.cfg.Conn)
		if err != nil {
			s.cfg.Log.Debug("connection ended", "session", s.cfg.ID, "cause", err)
			return
		}
		switch m := m.(type) {
		case wire.Input:
			if len(m.Data) > wire.MaxChunk || !s.in.put(m.Data) {
				s.protocolError("input exceeds its credit")
				return
			}
		case wire.InputEOF:
			s.in.end()
		case wire.Start, wire.Resize, wire.Signal, wire.Close, wire.Decide:
			select {
			case s.messages <- m:
			case <-s.out.done:
				return
			}
		default:
			s.protocolError("unexpected message")
			return
		}
	}
}

func (s *Session) protocolError(what string) {
	s.cfg.Log.Warn("client broke the protocol", "session", s.cfg.ID, "what", what)
	s.Send(wire.Refused{Code: wire.CodeProtocol, Message: what})
}

// writeOut is the writer goroutine.
func (s *Session) writeOut() {
	defer s.out.close()
	for {
		m, final, ok := s.out.next()
		if !ok {
			return
		}
		if err := wire.Write(s.cfg.Conn, m); err != nil || final {
			return
		}
	}
}

// awaitWriter waits until the last message is written. As long as the client is
// there it may take its time with what the program wrote, unless the coordinator
// itself is ending or the sandbox is gone.
func (s *Session) awaitWriter(ctx context.Context, hurry bool) {
	if hurry {
		s.hurry()
	}
	hungUp := s.hungUp
	for {
		select {
		case <-s.out.done:
			return
		case <-hungUp:
			hungUp = nil
			s.hurry()
		case <-ctx.Done():
			s.hurry()
			<-s.out.done
			return
		case <-s.messages: // too late for any of them
		}
	}
}

// hurry bounds what is still to be written.
func (s *Session) hurry() { s.cfg.Conn.SetWriteDeadline(time.Now().Add(s.cfg.Grace.Send)) }

// work is the worker goroutine: calls that may wait for the sandbox, in order.
func (s *Session) work() {
	for call := range s.calls {
		call()
	}
}
