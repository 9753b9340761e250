package session

import (
	"time"

	"golang.org/x/sys/unix"
)

// Grace is how long each rung of the close ladder waits for the command to end,
// and how long a drain waits for output that does not come.
type Grace struct {
	Hangup    time.Duration // after SIGHUP
	Terminate time.Duration // after SIGTERM
	Kill      time.Duration // after killing every process of the session
	Drain     time.Duration // for the terminal to run dry
	Send      time.Duration // for the rest to reach a client that is not waited for
}

// DefaultGrace is what the coordinator uses.
var DefaultGrace = Grace{
	Hangup:    2 * time.Second,
	Terminate: 3 * time.Second,
	Kill:      5 * time.Second,
	Drain:     500 * time.Millisecond,
	Send:      5 * time.Second,
}

// rung is a step of the close ladder:
//
//	rungNone ─► rungHangup ─► rungTerminate ─► rungKill ─► rungGone
//
// Each step is taken when the one before was given its grace in vain.
type rung int

const (
	rungNone rung = iota
	rungHangup
	rungTerminate
	rungKill
	rungGone // nothing helped; the session is released all the same
)

// step is what climbing to a rung does: a signal, or the end of every process of
// the session, and how long to wait afterwards.
type step struct {
	rung   rung
	signal unix.Signal // 0 at rungKill and rungGone
	wait   time.Duration
}

// climb returns the step after r.
func (g Grace) climb(r rung) step {
	switch r {
	case rungNone:
		return step{rungHangup, unix.SIGHUP, g.Hangup}
	case rungHangup:
		return step{rungTerminate, unix.SIGTERM, g.Terminate}
	case rungTerminate:
		return step{rungKill, 0, g.Kill}
	default:
		return step{rung: rungGone}
	}
}
