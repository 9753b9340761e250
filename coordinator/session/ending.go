package session

import (
	"context"
	"time"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/fault"
)

func (l *loop) startLadder(why string) {
	if l.rung == rungNone {
		l.cfg.Log.Info("closing session", "session", l.cfg.ID, "why", why)
		l.climb()
	}
}

func (l *loop) climb() {
	next := l.cfg.Grace.climb(l.rung)
	l.rung = next.rung
	l.timer = time.After(next.wait)
	switch {
	case next.signal != 0:
		l.signal(next.signal)
	case next.rung == rungKill:
		l.endAll()
	}
}

// endAll kills every process of the session, daemons included, and says on the
// channel whether the sandbox did it.
func (l *loop) endAll() <-chan error {
	proc, wait := l.proc, l.cfg.Grace.Kill
	done := make(chan error, 1)
	l.ends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		killed, err := proc.End(ctx)
		l.cfg.Log.Debug("ended what was left of a session", "session", l.cfg.ID, "killed", killed, "err", err)
		done <- err
	})
	return done
}

// finish collects a command that is over: what it left running is killed, what
// it wrote is delivered, and then comes its status. A sandbox that cannot be asked
// any more is about to be found dead, and then the status was not the command's.
func (l *loop) finish(ctx context.Context) wire.Message {
	exit := l.proc.Exit()
	if exit.Lost {
		return l.lose(ctx, l.lostReason())
	}
	ended := l.endAll()
	if l.hurried {
		l.hurry()
	}
	l.drain(ctx)
	select {
	case err := <-ended:
		if err == nil {
			return wire.Exit{Code: exit.Code}
		}
	case reason := <-l.lost:
		return l.lostExit(reason)
	}
	select {
	case reason := <-l.lost:
		return l.lostExit(reason)
	case <-time.After(l.cfg.Grace.Drain):
		return wire.Exit{Code: exit.Code}
	}
}

// lose delivers what is left of the output of a lost sandbox, but waits for no
// client that does not read.
func (l *loop) lose(ctx context.Context, reason string) wire.Message {
	l.hurried = true
	l.hurry()
	l.drain(ctx)
	return l.lostExit(reason)
}

// lostReason waits a moment for the coordinator to say why the sandbox ended.
func (l *loop) lostReason() string {
	select {
	case reason := <-l.lost:
		return reason
	case <-time.After(l.cfg.Grace.Drain):
		return "the sandbox ended"
	}
}

func (l *loop) lostExit(reason string) wire.Message {
	l.hurried = true
	return wire.Exit{Code: int(fault.Sandbox), Lost: true, Reason: reason}
}

// drain forwards what the terminal still holds.
func (l *loop) drain(ctx context.Context) {
	l.term.end()
	hungUp, stop := l.hungUp, ctx.Done()
	for {
		select {
		case <-l.pumped:
			return
		case <-l.messages: // too late for any of them
		case <-hungUp:
			hungUp = nil
			l.hurry()
		case <-stop:
			stop = nil
			l.hurry()
		}
	}
}
