package server_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/coordtest"
	"lazaret.dev/lazaret/coordinator/server"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/fake"
)

// withInstall is a sandbox whose shell runs install, and a Domain that wants it.
func withInstall(install fake.Program) (*fake.Launcher, func(*server.Config)) {
	programs := map[string]fake.Program{"/bin/sh": install}
	for name, p := range fake.Builtin {
		programs[name] = p
	}
	return &fake.Launcher{Programs: programs}, func(c *server.Config) { c.Plan.Install = "install it" }
}

func TestInstallStepRunsOnceBeforeTheFirstCommand(t *testing.T) {
	t.Parallel()
	ran := 0
	launcher, want := withInstall(func(p *fake.Process) int {
		ran++
		fmt.Fprintf(p.Stdout, "got %s\n", p.Spec.Argv[2])
		fmt.Fprint(p.Stderr, "no newline")
		return 0
	})
	d := coordtest.Serve(t, launcher, want)
	a := d.Open(pipes, "cat")
	a.AwaitStarted()
	var lines []string
	for _, n := range a.Notices {
		lines = append(lines, n.Text)
	}
	if all := strings.Join(lines, "|"); !strings.Contains(all, "setting up profile shell") || !strings.HasSuffix(all, "got install it|no newline") {
		t.Errorf("notices = %q", lines)
	}
	d.Open(pipes, "echo").AwaitExit()
	if ran != 1 {
		t.Errorf("the install step ran %d times", ran)
	}
	log, err := os.ReadFile(filepath.Join(d.Config.Plan.Root(), "log", "install.log"))
	if err != nil || string(log) != "got install it\nno newline" {
		t.Errorf("log = %q, %v", log, err)
	}
	a.Close()
	d.AwaitEnd()

	// The next generation finds the stamp; another text does not.
	root := d.Config.Plan.DataRoot
	again := coordtest.Serve(t, launcher, want, func(c *server.Config) { c.Plan.DataRoot = root })
	again.Open(pipes, "echo").AwaitExit()
	if ran != 1 {
		t.Errorf("a stamped step ran again")
	}
	other := coordtest.Serve(t, launcher, func(c *server.Config) { c.Plan.DataRoot, c.Plan.Install = root, "another" })
	other.Open(pipes, "echo").AwaitExit()
	if ran != 2 {
		t.Errorf("another text did not run")
	}
}

func TestFailedInstallStepIsShownAndTriedAgain(t *testing.T) {
	t.Parallel()
	code := 1
	launcher, want := withInstall(func(*fake.Process) int { return code })
	d := coordtest.Serve(t, launcher, want)
	hold := d.Open(pipes, "cat") // a command of the developer's own starts all the same
	hold.AwaitStarted()
	if last := hold.Notices[len(hold.Notices)-1]; last.Level != wire.LevelWarning || !strings.Contains(last.Text, "install.log") {
		t.Errorf("notice = %+v", last)
	}
	lost, ok := d.Open(pipes).AwaitEnd().(client.Lost) // the profile's command does not
	if !ok {
		t.Fatal("the profile's command ran without its install step")
	}
	refused := wantRefused(t, lost.Err, wire.CodeExec)
	if !strings.Contains(refused.Message, "install.log") || refused.Fix == "" {
		t.Errorf("refused = %+v", refused)
	}
	code = 0
	d.Open(pipes).AwaitExit()
	hold.Close()
}

// TestInstallStepEndsWithItsDomain: nobody waits for it any more.
func TestInstallStepEndsWithItsDomain(t *testing.T) {
	t.Parallel()
	launcher, want := withInstall(func(p *fake.Process) int {
		<-p.Killed
		return 1
	})
	d := coordtest.Serve(t, launcher, want)
	a := d.Open(pipes, "echo")
	a.Await(func(e client.Event) bool { _, ok := e.(client.Notice); return ok })
	a.Close()
	d.AwaitEnd()
}

// stubDesk counts, and lets a test play the desk.
type stubDesk struct {
	mu      sync.Mutex
	sinks   map[domain.SessionID]server.Sink
	anchors map[domain.SessionID]ed25519.PublicKey
	decided chan escalate.Decision
	err     error
	closed  bool
}

func newStubDesk() *stubDesk {
	return &stubDesk{sinks: map[domain.SessionID]server.Sink{}, anchors: map[domain.SessionID]ed25519.PublicKey{},
		decided: make(chan escalate.Decision, 1)}
}

func (d *stubDesk) AddSession(id domain.SessionID, anchor ed25519.PublicKey, sink server.Sink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sinks[id], d.anchors[id] = sink, anchor
}

func (d *stubDesk) RemoveSession(id domain.SessionID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sinks, id)
}

func (d *stubDesk) Decide(id domain.SessionID, s escalate.SignedDecision) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	decision, err := sign.VerifyDecision(d.anchors[id], s)
	if err != nil {
		return err
	}
	d.decided <- decision
	return d.err
}

func (d *stubDesk) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

func (d *stubDesk) sink(id domain.SessionID) server.Sink {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sinks[id]
}

func request(t *testing.T, session domain.SessionID) escalate.Pending {
	t.Helper()
	p := escalate.Pending{Request: escalate.Request{ID: domain.NewRequestID(), Session: session, Argv: []string{"uname"}, Dir: "."}}
	digest, err := sign.Digest(p)
	if err != nil {
		t.Fatal(err)
	}
	p.Digest = digest
	return p
}

func TestRequestsReachTheirSessionAndDecisionsTheDesk(t *testing.T) {
	t.Parallel()
	desk := newStubDesk()
	d := coordtest.Serve(t, &fake.Launcher{}, func(c *server.Config) { c.Desk = desk })
	a, other := d.Open(tty, "sleep"), d.Open(tty, "sleep")
	a.AwaitStarted()
	other.AwaitStarted()
	p := request(t, a.ID())
	desk.sink(a.ID()).Pending(p)
	shown := a.Await(func(e client.Event) bool { _, ok := e.(client.Pending); return ok }).(client.Pending)
	other.Await(func(e client.Event) bool {
		if _, ok := e.(client.Pending); ok {
			t.Error("another session is asked")
		}
		st, ok := e.(client.Status)
		return ok && st.Pending == 1
	})
	if err := a.Decide(shown.Pending, escalate.VerdictDeny, nil, "no"); err != nil {
		t.Fatal(err)
	}
	if got := <-desk.decided; got.Request != p.Request.ID || got.Session != a.ID() || got.Verdict != escalate.VerdictDeny || got.Reason != "no" {
		t.Errorf("decision = %+v", got)
	}
	desk.sink(a.ID()).Resolved(p.Request.ID, escalate.OutcomeDenied, "no")
	a.Await(func(e client.Event) bool {
		r, ok := e.(client.Resolved)
		return ok && r.Outcome == escalate.OutcomeDenied
	})
	a.Await(func(e client.Event) bool { st, ok := e.(client.Status); return ok && st.Pending == 0 })
	desk.sink(a.ID()).AbortSession("the developer ended it")
	a.AwaitExit()
	if last := a.Notices[len(a.Notices)-1]; last.Text != "the developer ended it" {
		t.Errorf("notice = %+v", last)
	}
	other.Close()
	d.AwaitEnd()
	if !desk.closed || len(desk.sinks) != 0 {
		t.Errorf("desk closed %v, sessions left %d", desk.closed, len(desk.sinks))
	}
}

func TestRefusedDecisionIsTold(t *testing.T) {
	t.Parallel()
	desk := newStubDesk()
	desk.err = errors.New("that request does not wait")
	d := coordtest.Serve(t, &fake.Launcher{}, func(c *server.Config) { c.Desk = desk })
	a := d.Open(pipes, "cat")
	a.AwaitStarted()
	if err := a.Decide(request(t, a.ID()), escalate.VerdictApprove, nil, ""); err != nil {
		t.Fatal(err)
	}
	n := a.Await(func(e client.Event) bool { _, ok := e.(client.Notice); return ok }).(client.Notice)
	if n.Level != wire.LevelError || n.Text != "that request does not wait" {
		t.Errorf("notice = %+v", n)
	}
	a.CloseInput()
	a.AwaitExit() // the session goes on
}

func TestNothingIsSignedForADigestThatIsNotTheCards(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{}, func(c *server.Config) { c.Desk = newStubDesk() })
	a := d.Open(pipes, "cat")
	p := request(t, a.ID())
	p.Request.Argv = []string{"rm"}
	if err := a.Decide(p, escalate.VerdictApprove, nil, ""); !errors.Is(err, client.ErrDigest) {
		t.Errorf("err = %v", err)
	}
}

// carrier records when logins are taken.
type carrier struct {
	mu    sync.Mutex
	taken int
	dead  bool // a take after the sandbox was stopped
}

func (c *carrier) Bring(context.Context, runtime.Sandbox) error { return nil }

func (c *carrier) Take(_ context.Context, s runtime.Sandbox) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken++
	select {
	case <-s.Done():
		c.dead = true
	default:
	}
	return nil
}

func TestLoginIsTakenAfterEverySessionAndBeforeTheStop(t *testing.T) {
	t.Parallel()
	c := &carrier{}
	d := coordtest.Serve(t, &fake.Launcher{}, func(cfg *server.Config) { cfg.Carrier = c })
	a := d.Open(pipes, "cat")
	d.Open(pipes, "echo").AwaitExit()
	a.CloseInput()
	a.AwaitExit()
	d.AwaitEnd()
	if c.taken != 2 || c.dead {
		t.Errorf("taken %d times, from a stopped sandbox: %v", c.taken, c.dead)
	}
}

func TestCapabilityIsTheSessions(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{}, func(c *server.Config) {
		c.Capability = func(id domain.SessionID) (string, error) { return "for-" + string(id), nil }
	})
	a := d.Open(pipes, "env")
	a.AwaitExit()
	if !strings.Contains(a.Out.String(), "LAZARET_CAPABILITY=for-"+string(a.ID())) {
		t.Errorf("environment = %q", a.Out.String())
	}
}
