package client

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/internal/domain"
)

// ErrClosed is returned by calls on a session whose connection has ended.
var ErrClosed = errors.New("session connection is closed")

// ErrNoAnswer is returned when the coordinator closed the connection before it
// answered: it was going down as we came.
var ErrNoAnswer = errors.New("the coordinator did not answer")

// ErrDigest is returned for a pending request whose digest is not that of what it
// shows: nothing is signed for it.
var ErrDigest = errors.New("the digest is not that of the request shown")

// eventQueue bounds what a slow reader of Events makes this process hold: when
// it is full the connection is not read, the coordinator stops reading the
// terminal, and the program inside waits.
const eventQueue = 32

// Session is one Client Session: one connection, one reader goroutine. Its
// methods may be called from any goroutine. Whoever reads Events must not be the
// one who calls Write: Write waits for credit that arrives on the same connection.
type Session struct {
	conn    net.Conn
	welcome wire.Welcome
	anchor  ed25519.PrivateKey
	events  chan Event
	gone    chan struct{} // closed by Close: nobody reads events any more
	done    chan struct{} // closed by the reader at its end

	sendMu sync.Mutex // one frame at a time on conn

	writeMu sync.Mutex // one Write at a time, so that its chunks stay together
	credit  credit

	closeOnce sync.Once
}

// Open introduces the client with hello, starts the session's command, and
// returns as soon as the coordinator has admitted the session. That the command
// runs, or could not be started, arrives as an event. anchor is the Session
// Anchor; hello.Anchor is set from it. On error conn is closed.
func Open(ctx context.Context, conn net.Conn, hello wire.Hello, start wire.Start, anchor ed25519.PrivateKey) (*Session, error) {
	hello.Version = wire.Version
	hello.Purpose = wire.PurposeSession
	hello.Anchor = anchor.Public().(ed25519.PublicKey)
	welcome, err := greet(ctx, conn, hello)
	if err == nil {
		err = wire.Write(conn, start)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	s := &Session{
		conn: conn, welcome: welcome, anchor: anchor,
		events: make(chan Event, eventQueue),
		gone:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	s.credit.init()
	go s.read()
	return s, nil
}

// greet sends hello and reads the answer, and no later than ctx allows.
func greet(ctx context.Context, conn net.Conn, hello wire.Hello) (wire.Welcome, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	answer, err := ask(conn, hello)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("greet coordinator: %w", cause)
		}
		return wire.Welcome{}, err
	}
	switch m := answer.(type) {
	case wire.Welcome:
		return m, nil
	case wire.Refused:
		return wire.Welcome{}, &m
	default:
		return wire.Welcome{}, fmt.Errorf("greet coordinator: unexpected %T", m)
	}
}

func ask(conn net.Conn, m wire.Message) (wire.Message, error) {
	if err := wire.Write(conn, m); err != nil {
		// The coordinator may have refused and closed before it read everything:
		// what it said is worth more than the broken pipe.
		if answer, readErr := wire.Read(conn); readErr == nil {
			return answer, nil
		}
		if isClosed(err) {
			return nil, ErrNoAnswer
		}
		return nil, err
	}
	answer, err := wire.Read(conn)
	if isClosed(err) {
		return nil, ErrNoAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("read coordinator's answer: %w", err)
	}
	return answer, nil
}

// ID is the session's name.
func (s *Session) ID() domain.SessionID { return s.welcome.Session }

// Welcome is what the coordinator said of the Domain.
func (s *Session) Welcome() wire.Welcome { return s.welcome }

// Events returns the session's events in order. It is closed after Exit or Lost.
func (s *Session) Events() <-chan Event { return s.events }

// Done is closed when the connection has ended and every event was taken.
func (s *Session) Done() <-chan struct{} { return s.done }

// Write sends p to the session's terminal or standard input, in order, waiting
// until the coordinator takes it.
func (s *Session) Write(p []byte) (int, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	sent := 0
	for sent < len(p) {
		n, err := s.credit.take(min(len(p)-sent, wire.MaxChunk))
		if err != nil {
			return sent, err
		}
		if err := s.send(wire.Input{Data: p[sent : sent+n]}); err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

// CloseInput ends the standard input of a session without a terminal.
func (s *Session) CloseInput() error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	return s.send(wire.InputEOF{})
}

// Resize tells the session the terminal's new size.
func (s *Session) Resize(size wire.Size) error { return s.send(wire.Resize{Size: size}) }

// Signal sends a terminal event to the session's foreground process group.
func (s *Session) Signal(event wire.SignalEvent) error {
	return s.send(wire.Signal{Event: event})
}

// Decide answers a pending request. argv, when not empty, replaces the request's
// vector; reason is for a denial. The answer is bound to the digest shown and
// signed by the Session Anchor.
func (s *Session) Decide(p escalate.Pending, verdict escalate.Verdict, argv []string, reason string) error {
	// What is signed is computed from what was displayed, never taken on trust.
	shown, err := sign.Digest(p)
	if err != nil {
		return err
	}
	if !bytes.Equal(shown, p.Digest) {
		return fmt.Errorf("decide about request %q: %w", p.Request.ID, ErrDigest)
	}
	signed, err := sign.Decision(s.anchor, escalate.Decision{
		Request: p.Request.ID,
		Session: s.ID(),
		Digest:  shown,
		Verdict: verdict,
		Argv:    argv,
		Reason:  reason,
	})
	if err != nil {
		return err
	}
	return s.send(wire.Decide{Decision: signed})
}

// End asks for the close ladder; Exit follows as an event.
func (s *Session) End() error { return s.send(wire.Close{}) }

// Close drops the connection. The coordinator then ends the session by itself.
func (s *Session) Close() error {
	var err error
	s.closeOnce.Do(func() {
		close(s.gone)
		err = s.conn.Close()
	})
	return err
}

func (s *Session) send(m wire.Message) error {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	err := wire.Write(s.conn, m)
	if errors.Is(err, net.ErrClosed) {
		return ErrClosed
	}
	return err
}

// read is the reader goroutine; it ends with the connection.
func (s *Session) read() {
	defer close(s.done)
	defer close(s.events)
	defer s.Close()
	defer s.credit.close()
	for {
		m, err := wire.Read(s.conn)
		if err != nil {
			s.deliver(Lost{Err: connectionError(err)})
			return
		}
		if last := s.handle(m); last {
			return
		}
	}
}

// handle delivers one message and reports whether it was the last.
func (s *Session) handle(m wire.Message) (last bool) {
	switch m := m.(type) {
	case wire.InputCredit:
		s.credit.add(m.Bytes)
		return false
	case wire.Exit:
		s.deliver(m)
		return true
	case wire.Refused:
		s.deliver(Lost{Err: &m})
		return true
	case wire.Started, wire.Output, wire.Pending, wire.Resolved, wire.Status, wire.Notice:
		return !s.deliver(m)
	default:
		s.deliver(Lost{Err: fmt.Errorf("coordinator sent an unexpected %T", m)})
		return true
	}
}

// deliver waits for room in the event queue; false means nobody reads any more.
func (s *Session) deliver(e Event) bool {
	select {
	case s.events <- e:
		return true
	case <-s.gone:
		return false
	}
}

func connectionError(err error) error {
	switch {
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	case isClosed(err):
		return errors.New("the coordinator ended unexpectedly")
	default:
		return fmt.Errorf("read from coordinator: %w", err)
	}
}

// isClosed says whether err means that the other end closed, or is gone.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
