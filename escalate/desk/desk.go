package desk

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/mailbox"
	"lazaret.dev/lazaret/escalate/policy"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// What a caller of Decide branches on.
var (
	// ErrNotPending: the request does not wait (any more), or waits for another session.
	ErrNotPending = errors.New("the request does not wait for a decision of this session")
	// ErrBadDecision: signature, digest or content is wrong. The request still waits.
	ErrBadDecision = errors.New("the decision is not about what waits")
)

// Limits of a Domain's requests.
const (
	maxPendingSession = 32
	maxPending        = 128
	maxHeldBytes      = 128 << 20 // of copies of programs, over all that waits and runs
	maxSeen           = 8192      // names of requests that were accepted
	maxKept           = 256       // results their askers did not take
	burst             = 20        // requests of a session at once
	refill            = 2 * time.Second
)

// Defaults of Config.
const (
	DefaultExpire     = 10 * time.Minute
	defaultAckTimeout = 60 * time.Second
	defaultKeep       = 60 * time.Second
)

// Sink is the session a request is shown to. Its methods must not block and must
// not call the Desk.
type Sink interface {
	// Pending shows a request that waits for this session's decision.
	Pending(escalate.Pending)
	// Resolved says how a request ended, or with OutcomeRunning that it was
	// approved; detail is an exit status or a reason.
	Resolved(request domain.RequestID, outcome escalate.Outcome, detail string)
	// AbortSession asks for the end of the session: its developer said so.
	AbortSession(reason string)
}

// Config is one generation's desk.
type Config struct {
	Domain         domain.ID
	Generation     domain.Generation
	Profile        string
	Workspace      string // on the host, canonical
	WorkspaceGuest string
	Writable       []string      // other host paths the sandbox can write, canonical
	Enabled        bool          // off: every request is answered with that
	Expire         time.Duration // how long a request waits; 0 means DefaultExpire
	Authority      *sign.Authority
	Environ        []string    // of approved programs, "NAME=value"
	IDs            runtime.IDs // whose files the mailbox holds; the zero value accepts all
	Log            *slog.Logger
	Clock          Clock         // nil: the real one
	AckTimeout     time.Duration // how long output may wait for its asker; 0 means a minute
	// Journal reads what the sandbox wrote in the workspace; nil: nothing is known.
	Journal func() (*journal.Journal, error)
}

// Clock is time as the desk sees it.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Desk owns the requests of one generation. Its methods may overlap.
type Desk struct {
	cfg    Config
	policy *policy.Policy
	out    *mailbox.Outbox
	poke   chan struct{} // holds at most one: pokes are all the same
	stop   context.CancelFunc
	ctx    context.Context
	inbox  sync.WaitGroup // the goroutines New started
	runs   sync.WaitGroup // one per approved request

	// mu guards what follows. No sink is called and no file is read under it.
	mu       sync.Mutex
	closed   bool
	sessions map[domain.SessionID]*session
	requests map[domain.RequestID]*request
	seen     names
	kept     []domain.RequestID // ended, oldest first; their results wait to be taken
	dropped  int                // refused entries not logged
	lastLog  time.Time
}

type session struct {
	anchor ed25519.PublicKey
	sink   Sink
	tokens float64
	filled time.Time
}

// New starts a desk over the two mailbox directories, which stay the caller's and
// must outlive it. poke makes watchers inside look at a path again.
func New(cfg Config, requests, results *os.File, poke func(guestPath string) error) (*Desk, error) {
	if cfg.Authority == nil {
		return nil, errors.New("open the escalation desk: no authority")
	}
	cfg.Expire = or(cfg.Expire, DefaultExpire)
	cfg.AckTimeout = or(cfg.AckTimeout, defaultAckTimeout)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	pol, err := policy.New(policy.Config{
		Workspace: cfg.Workspace, WorkspaceGuest: cfg.WorkspaceGuest, Writable: cfg.Writable, Environ: cfg.Environ,
		Journal: cfg.Journal, Now: cfg.Clock.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("open the escalation desk: %w", err)
	}
	d := &Desk{
		cfg: cfg, policy: pol,
		out:      &mailbox.Outbox{Dir: results},
		poke:     make(chan struct{}, 1),
		sessions: map[domain.SessionID]*session{},
		requests: map[domain.RequestID]*request{},
		seen:     names{limit: maxSeen},
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	in := &mailbox.Inbox{Dir: requests, Deliver: d.receive, Refused: d.refusedEntry, Owner: owner(cfg.IDs)}
	d.inbox.Go(func() {
		if err := in.Run(d.ctx); err != nil {
			cfg.Log.Error("escalation mailbox", "error", err)
		}
	})
	d.inbox.Go(func() { d.pokes(poke) })
	return d, nil
}

func or(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// AddSession lets a session ask, and shows what it asks to sink.
func (d *Desk) AddSession(id domain.SessionID, anchor ed25519.PublicKey, sink Sink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions[id] = &session{anchor: anchor, sink: sink, tokens: burst, filled: d.cfg.Clock.Now()}
}

// RemoveSession withdraws what the session waits for and ends what runs for it. It
// returns when that has been reaped. Its sink is not called any more.
func (d *Desk) RemoveSession(id domain.SessionID) {
	d.mu.Lock()
	delete(d.sessions, id)
	var mine []*request
	for _, r := range d.requests {
		if r.pending.Request.Session == id {
			mine = append(mine, r)
		}
	}
	d.mu.Unlock()
	for _, r := range mine {
		d.withdraw(r, errSessionEnded)
	}
	for _, r := range mine {
		<-r.done
	}
}

// Pending returns what waits for the session, oldest first.
func (d *Desk) Pending(id domain.SessionID) []escalate.Pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []escalate.Pending
	for _, r := range d.requests {
		if r.state == waiting && r.pending.Request.Session == id {
			out = append(out, r.pending)
		}
	}
	slices.SortFunc(out, func(a, b escalate.Pending) int {
		if a.ReceivedUnix != b.ReceivedUnix {
			return int(a.ReceivedUnix - b.ReceivedUnix)
		}
		return strings.Compare(string(a.Request.ID), string(b.Request.ID))
	})
	return out
}

// Close ends everything that runs, withdraws everything that waits, and returns
// when nothing of the desk is left.
func (d *Desk) Close() {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	all := slices.Collect(maps.Values(d.requests))
	d.mu.Unlock()
	for _, r := range all {
		d.withdraw(r, errSessionEnded)
	}
	d.runs.Wait()
	d.stop()
	d.inbox.Wait()
	if first {
		d.mu.Lock()
		for _, r := range d.requests {
			r.stopTimer()
		}
		d.mu.Unlock()
		_ = d.policy.Close()
	}
}

// pokes runs until the desk closes. Many changes in a row make one poke.
func (d *Desk) pokes(poke func(string) error) {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.poke:
		}
		if poke == nil {
			continue
		}
		if err := poke(wire.GuestRequests); err != nil {
			// The client polls; a lost poke costs it a moment.
			d.cfg.Log.Debug("poke the mailbox", "error", err)
		}
	}
}

func (d *Desk) wake() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// refusedEntry logs entries that are none, at most one line a second: a guest can
// make any number.
func (d *Desk) refusedEntry(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropped++
	if now := d.cfg.Clock.Now(); now.Sub(d.lastLog) >= time.Second {
		d.cfg.Log.Warn("escalation mailbox entry refused", "name", name, "error", err, "since_last", d.dropped)
		d.dropped, d.lastLog = 0, now
	}
}

// owner returns who may own a mailbox entry: as whom a guest user's file is seen
// here. Root's mailbox is id-mapped where the sandbox attaches it, so on our side
// its files belong to the guest's own numbers.
func owner(ids runtime.IDs) func(uint32) bool {
	self := uint32(os.Geteuid())
	switch ids.Mode {
	case "":
		return nil
	case runtime.ModeRoot:
		return func(uid uint32) bool { return uid < ids.UIDs.Count }
	default:
		return func(uid uint32) bool {
			return uid == self || uid >= ids.UIDs.Host && uid-ids.UIDs.Host < ids.UIDs.Count
		}
	}
}
