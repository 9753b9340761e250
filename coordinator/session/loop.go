package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// loop is the event loop of one session; it runs in Run's goroutine only.
//
//	await Start ─► prepare and exec ─► attend ─► drain ─► last message
//
// Every step ends early when the client, the sandbox or the coordinator goes.
type loop struct {
	*Session
	start   wire.Start
	size    wire.Size // latest, also before there is a terminal
	term    *terminal
	proc    runtime.Process
	rung    rung
	timer   <-chan time.Time // grace of the current rung
	pumped  chan struct{}    // closed when no output can come any more
	hurried bool             // a client that does not read is not waited for
	ends    sync.WaitGroup   // running Process.End calls
}

// run serves the session and returns the message it ends with.
func (l *loop) run(ctx context.Context) wire.Message {
	if last := l.awaitStart(ctx); last != nil {
		return last
	}
	if last := l.exec(ctx); last != nil {
		return last
	}
	defer l.release()
	return l.attend(ctx)
}

// release lets go of the terminal, which hangs it up.
func (l *loop) release() {
	l.in.close()
	l.term.close()
	l.ends.Wait()
}

func (l *loop) awaitStart(ctx context.Context) wire.Message {
	select {
	case m := <-l.messages:
		start, ok := m.(wire.Start)
		if !ok {
			return wire.Refused{Code: wire.CodeProtocol, Message: "the first message of a session is not Start"}
		}
		if start.TTY && (start.Size.Rows == 0 || start.Size.Cols == 0) {
			return wire.Refused{Code: wire.CodeProtocol, Message: "a terminal session needs a size of at least 1 by 1"}
		}
		l.start, l.size = start, start.Size
		return nil
	case <-l.hungUp:
		return wire.Exit{Code: killedStatus}
	case <-l.endNow:
		return wire.Exit{Code: hangupStatus}
	case reason := <-l.lost:
		return l.lostExit(reason)
	case <-ctx.Done():
		return wire.Exit{Code: hangupStatus}
	}
}

const (
	hangupStatus = 128 + int(unix.SIGHUP)
	killedStatus = 128 + int(unix.SIGKILL)
)

// started is the outcome of preparing and starting the command.
type started struct {
	term *terminal
	proc runtime.Process
	argv []string
	err  error
}

// exec starts the command in a goroutine of its own, so that a client that goes
// away, or a size that changes, is noticed meanwhile.
func (l *loop) exec(ctx context.Context) wire.Message {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan started, 1)
	go func() { result <- l.startCommand(ctx) }()
	hungUp, endNow := l.hungUp, l.endNow
	reason := ""
	for {
		select {
		case r := <-result:
			return l.startedWith(r, reason)
		case m := <-l.messages:
			l.early(m)
		case <-hungUp:
			hungUp = nil
			cancel()
		case <-endNow:
			endNow = nil
			cancel()
		case reason = <-l.lost:
			cancel()
		}
	}
}

// early handles a message that came before the command ran.
func (l *loop) early(m wire.Message) {
	switch m := m.(type) {
	case wire.Resize:
		l.resize(m.Size)
	case wire.Close:
		l.End()
	case wire.Start:
		l.protocolError("Start was sent twice")
		l.End()
	}
}

func (l *loop) startCommand(ctx context.Context) started {
	spec, err := l.cfg.Host.Prepare(ctx, l.start, func(n wire.Notice) { l.Send(n) })
	if err != nil {
		return started{err: err}
	}
	spec.Session = l.cfg.ID
	term, err := openTerminal(l.start, l.cfg.Grace.Drain, &spec)
	if err != nil {
		return started{err: err}
	}
	proc, err := l.cfg.Host.Exec(ctx, spec)
	term.release()
	if err != nil {
		term.close()
		return started{err: err}
	}
	return started{term: term, proc: proc, argv: spec.Argv}
}

// startedWith enters the running state, or returns the refusal. reason is set
// when the sandbox was lost meanwhile.
func (l *loop) startedWith(r started, reason string) wire.Message {
	if reason != "" {
		l.Lose(reason) // attend takes it again
	}
	if r.err != nil {
		if reason != "" {
			return l.lostExit(reason)
		}
		return refusal(r.err)
	}
	l.term, l.proc = r.term, r.proc
	if l.size != l.start.Size {
		l.applySize()
	}
	l.out.put(wire.Started{Argv: r.argv})
	l.out.grant(inputWindow)
	l.cfg.Host.Changed(State{Argv: r.argv, TTY: l.start.TTY, Name: l.start.Name, Started: time.Now()})
	l.ends.Go(func() { l.term.feed(l.in, l.out.grant) })
	l.pumpAll()
	return nil
}

// refusal turns err into what the client is told.
func refusal(err error) wire.Message {
	var refused *wire.Refused
	if errors.As(err, &refused) {
		return *refused
	}
	return wire.Refused{Code: wire.CodeExec, Message: err.Error(), Fix: fault.FixOf(err)}
}

func (l *loop) pumpAll() {
	var pumps sync.WaitGroup
	for _, o := range l.term.outputs {
		pumps.Go(func() { l.term.pump(o, l.out.write) })
	}
	l.pumped = make(chan struct{})
	go func() {
		pumps.Wait()
		close(l.pumped)
	}()
}

// attend serves the running command until it is over.
func (l *loop) attend(ctx context.Context) wire.Message {
	hungUp, endNow, stop := l.hungUp, l.endNow, ctx.Done()
	for {
		select {
		case <-l.proc.Done():
			return l.finish(ctx)
		case reason := <-l.lost:
			return l.lose(ctx, reason)
		case m := <-l.messages:
			l.message(m)
		case <-hungUp:
			hungUp = nil
			l.startLadder("client gone")
		case <-endNow:
			endNow, l.hurried = nil, true
			l.startLadder("ended by the coordinator")
		case <-stop:
			stop = nil
			l.startLadder("coordinator ends")
		case <-l.timer:
			if l.climb(); l.rung == rungGone {
				l.cfg.Log.Error("session outlived its close ladder", "session", l.cfg.ID)
				return wire.Exit{Code: killedStatus}
			}
		}
	}
}

func (l *loop) message(m wire.Message) {
	switch m := m.(type) {
	case wire.Resize:
		l.resize(m.Size)
		l.applySize()
	case wire.Signal:
		l.event(m.Event)
	case wire.Close:
		l.startLadder("closed by the client")
	case wire.Decide:
		l.call(func() {
			if err := l.cfg.Host.Decide(m.Decision); err != nil {
				l.Send(wire.Notice{Level: wire.LevelError, Text: err.Error()})
			}
		})
	default:
		l.protocolError("unexpected message in a running session")
		l.startLadder("protocol error")
	}
}

func (l *loop) resize(size wire.Size) {
	if size.Rows > 0 && size.Cols > 0 {
		l.size = size
	}
}

func (l *loop) applySize() {
	if err := l.term.resize(l.size); err != nil {
		l.cfg.Log.Warn("resize", "session", l.cfg.ID, "err", err)
	}
}

// terminalEvents are the signals of the terminal events (S2 §3.3).
var terminalEvents = map[wire.SignalEvent]unix.Signal{
	wire.EventInterrupt: unix.SIGINT,
	wire.EventQuit:      unix.SIGQUIT,
	wire.EventSuspend:   unix.SIGTSTP,
}

func (l *loop) event(e wire.SignalEvent) {
	if sig, ok := terminalEvents[e]; ok {
		l.signal(sig)
	}
}

func (l *loop) signal(sig unix.Signal) {
	proc := l.proc
	l.call(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		if err := proc.Signal(ctx, sig); err != nil {
			l.cfg.Log.Warn("signal", "session", l.cfg.ID, "signal", sig, "err", err)
		}
	})
}

// call gives the worker something to do. When the worker is stuck the event is
// dropped: a sandbox that does not answer is the ladder's business.
func (l *loop) call(f func()) {
	select {
	case l.calls <- f:
	default:
		l.cfg.Log.Warn("sandbox does not answer; event dropped", "session", l.cfg.ID)
	}
}
