package spawn

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

// Planner makes the plan for a profile in a workspace, preparing what it needs
// (the image) and telling progress about it.
type Planner func(ctx context.Context, profile, workspace string, progress func(string)) (plan.Plan, error)

// Opener opens sessions. Its methods may be called from any goroutine.
type Opener struct {
	Plan Planner
	// Path, Args and Env start a Host Coordinator. Args[0] is the program's name,
	// and the hidden mode follows.
	Path string
	Args []string
	Env  []string
	// StartTimeout bounds a coordinator's start, DefaultStartTimeout when 0.
	StartTimeout time.Duration
	// WaitTimeout bounds the wait for another starter or for a Domain that is
	// going down, DefaultWaitTimeout when 0.
	WaitTimeout time.Duration
}

// Defaults of an Opener.
const (
	DefaultStartTimeout = 10 * time.Second
	DefaultWaitTimeout  = 40 * time.Second
	// greetTimeout bounds a coordinator that accepts and does not answer.
	greetTimeout = 10 * time.Second
)

// Request is one session to open.
type Request struct {
	Profile   string
	Workspace string // canonical
	Start     wire.Start
}

// Open opens a session in the Domain of the request's profile and workspace,
// starting its coordinator when there is none.
func (o Opener) Open(ctx context.Context, r Request, progress func(string)) (*client.Session, error) {
	if err := checkText(r.Start); err != nil {
		return nil, err
	}
	anchor := drawAnchor() // beside the planning: the first key of a process costs milliseconds
	p, err := o.Plan(ctx, r.Profile, r.Workspace, progress)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(p)
	if err != nil {
		return nil, err
	}
	a := attempt{Opener: o, plan: p, root: dir, start: r.Start, progress: progress}
	if a.anchor, err = anchor(); err != nil {
		return nil, err
	}
	s, err := a.open(ctx)
	if err != nil {
		return nil, explain(err)
	}
	go func() {
		<-s.Done()
		_ = root.Sweep(dir) // for a coordinator that was killed: nobody else may come
	}()
	return s, nil
}

// drawAnchor begins to draw a Session Anchor and returns what waits for it. The
// anchor never leaves this process.
func drawAnchor() (wait func() (ed25519.PrivateKey, error)) {
	type drawn struct {
		key ed25519.PrivateKey
		err error
	}
	done := make(chan drawn, 1) // of capacity 1: nobody may come for it
	go func() {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			err = fmt.Errorf("draw session anchor: %w", err)
		}
		done <- drawn{private, err}
	}()
	return func() (ed25519.PrivateKey, error) {
		d := <-done
		return d.key, d.err
	}
}

// attempt is one Open.
type attempt struct {
	Opener
	plan     plan.Plan
	root     string
	start    wire.Start
	anchor   ed25519.PrivateKey
	progress func(string)
}

// tries bounds how often a Domain may go down just as we arrive.
const tries = 5

func (a attempt) open(ctx context.Context) (*client.Session, error) {
	var err error
	for range tries {
		var s *client.Session
		if s, err = a.connect(ctx); err == nil {
			return s, nil
		}
		if !worthStarting(err) {
			return nil, err
		}
		if s, err = a.lead(ctx); err == nil {
			return s, nil
		}
		if !worthStarting(err) {
			return nil, err
		}
	}
	return nil, err
}

// worthStarting says whether err means that there is no coordinator, or none for
// long any more.
func worthStarting(err error) bool {
	var refused *wire.Refused
	if errors.As(err, &refused) {
		return refused.Code == wire.CodeStopping
	}
	return errors.Is(err, errNotRunning) || errors.Is(err, client.ErrNoAnswer)
}

// lead takes the start lock and starts a coordinator, unless another client has
// done so meanwhile.
func (a attempt) lead(ctx context.Context) (*client.Session, error) {
	wait, cancel := context.WithTimeout(ctx, orDefault(a.WaitTimeout, DefaultWaitTimeout))
	defer cancel()
	starting, err := root.Lock(wait, root.StartLockPath(a.root))
	if err != nil {
		return nil, a.waited(err, "another lazaret is starting this Domain and does not finish")
	}
	defer starting.Close()
	if s, err := a.connect(ctx); err == nil || !worthStarting(err) {
		return s, err
	}
	lock, err := root.Lock(wait, root.LockPath(a.root))
	if err != nil {
		return nil, a.waited(err, "the Domain's earlier coordinator does not end")
	}
	err = a.spawn(ctx, lock)
	lock.Close() // the coordinator has it now, or nobody
	if err != nil {
		return nil, err
	}
	return a.connect(ctx)
}

func (a attempt) waited(err error, what string) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &fault.Error{Kind: fault.Workspace, Message: what, Err: err,
		Fix: "see " + logPath(a.root) + ", and end the process that holds the lock"}
}

func (a attempt) hello() wire.Hello {
	return wire.Hello{
		Client: domain.NewClientID(), Domain: a.plan.Domain,
		Fingerprint: a.plan.Fingerprint, Facts: a.plan.Facts,
	}
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
