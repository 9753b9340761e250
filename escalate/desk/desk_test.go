package desk_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/client"
	"lazaret.dev/lazaret/escalate/desk"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/internal/domain"
)

const (
	testDomain     = domain.ID("646eb596abfb")
	testGeneration = domain.Generation("0123456789abcdef")
	patience       = 30 * time.Second
)

// house is a desk over a real mailbox on a tmpfs, and what the sandbox sees of it.
type house struct {
	*desk.Desk
	base      string // run/lazaret, as the sandbox sees it
	workspace string
	authority *sign.Authority
	clock     *fakeClock
}

type change func(*desk.Config)

func open(t *testing.T, changes ...change) *house {
	t.Helper()
	h := &house{base: tempDir(t), clock: newFakeClock()}
	var err error
	if h.workspace, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if h.authority, err = sign.NewAuthority(testDomain, testGeneration); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"requests", "results", "credential"} {
		if err := os.Mkdir(filepath.Join(h.base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range h.authority.Secrets() {
		name := filepath.Join(h.base, "credential", filepath.Base(f.Path))
		if err := os.WriteFile(name, f.Data, os.FileMode(f.Mode)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := desk.Config{
		Domain: testDomain, Generation: testGeneration, Profile: "shell",
		// Inside, the workspace has the same name here: the client is in no sandbox.
		Workspace: h.workspace, WorkspaceGuest: h.workspace, Enabled: true, Expire: time.Minute,
		Authority: h.authority, Environ: []string{"PATH=/usr/bin:/bin"}, Clock: h.clock,
	}
	for _, c := range changes {
		c(&cfg)
	}
	requests, results := openDir(t, h.base, "requests"), openDir(t, h.base, "results")
	// The real poke is a chmod inside; this one makes the same event.
	poke := func(path string) error { return os.Chmod(filepath.Join(h.base, filepath.Base(path)), 0o755) }
	if h.Desk, err = desk.New(cfg, requests, results, poke); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "desk-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func openDir(t *testing.T, base, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(base, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// guest is a session: the developer's side of it, and the environment of what
// runs inside.
type guest struct {
	house      *house
	id         domain.SessionID
	key        ed25519.PrivateKey
	capability string
	pending    chan escalate.Pending
	resolved   chan resolution
	aborted    chan string
}

type resolution struct {
	request domain.RequestID
	outcome escalate.Outcome
	detail  string
}

func (g *guest) Pending(p escalate.Pending) { g.pending <- p }
func (g *guest) Resolved(r domain.RequestID, o escalate.Outcome, detail string) {
	g.resolved <- resolution{r, o, detail}
}
func (g *guest) AbortSession(reason string) { g.aborted <- reason }

func (h *house) session(t *testing.T) *guest {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{
		house: h, id: domain.NewSessionID(), key: key, pending: make(chan escalate.Pending, 2000),
		resolved: make(chan resolution, 4000), aborted: make(chan string, 10),
	}
	if g.capability, err = h.authority.Capability(g.id); err != nil {
		t.Fatal(err)
	}
	h.AddSession(g.id, public, g)
	return g
}

// asking is one run of the client.
type asking struct {
	stop   context.CancelFunc
	done   chan struct{}
	code   int
	stdout buffer
	stderr buffer
}

func (g *guest) ask(t *testing.T, args ...string) *asking {
	t.Helper()
	return g.askGated(t, nil, args...)
}

// askGated runs a client each of whose writes to its output waits for gate.
func (g *guest) askGated(t *testing.T, gate chan struct{}, args ...string) *asking {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a := &asking{stop: cancel, done: make(chan struct{})}
	a.stdout.gate = gate
	c := client.Client{
		Base: g.house.base, Session: string(g.id), Capability: g.capability, Dir: g.house.workspace,
		Stdin: strings.NewReader(""), Stdout: &a.stdout, Stderr: &a.stderr,
	}
	go func() {
		defer close(a.done)
		a.code = c.Run(ctx, args)
	}()
	t.Cleanup(func() {
		cancel()
		<-a.done
	})
	return a
}

func (a *asking) wait(t *testing.T, code int) (stdout, stderr string) {
	t.Helper()
	receive(t, "the client's end", a.done)
	if a.code != code {
		t.Errorf("exit %d, want %d; stdout %.200q, stderr %.500q", a.code, code, a.stdout.String(), a.stderr.String())
	}
	return a.stdout.String(), a.stderr.String()
}

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func (g *guest) decision(p escalate.Pending, v escalate.Verdict) escalate.Decision {
	return escalate.Decision{Request: p.Request.ID, Session: g.id, Digest: p.Digest, Verdict: v}
}

func (g *guest) decide(t *testing.T, d escalate.Decision) error {
	t.Helper()
	s, err := sign.Decision(g.key, d)
	if err != nil {
		t.Fatal(err)
	}
	return g.house.Decide(g.id, s)
}

// approve waits for the next request and approves it.
func (g *guest) approve(t *testing.T) escalate.Pending {
	t.Helper()
	p := receive(t, "the request", g.pending)
	if err := g.decide(t, g.decision(p, escalate.VerdictApprove)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (g *guest) expect(t *testing.T, outcome escalate.Outcome) resolution {
	t.Helper()
	for {
		r := receive(t, "the resolution", g.resolved)
		if r.outcome == outcome {
			return r
		}
		if r.outcome != escalate.OutcomeRunning {
			t.Fatalf("resolved as %d (%s), want %d", r.outcome, r.detail, outcome)
		}
	}
}

// nothingLeft checks that both directories empty themselves.
func (h *house) nothingLeft(t *testing.T) {
	t.Helper()
	until(t, "an empty mailbox", func() bool {
		for _, dir := range []string{"requests", "results"} {
			if left, err := os.ReadDir(filepath.Join(h.base, dir)); err != nil || len(left) > 0 {
				return false
			}
		}
		return true
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}

// buffer is a bytes.Buffer a test can read while the client writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
	// gate, when set, is received from before each write.
	gate chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.gate != nil {
		<-b.gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// fakeClock stands still until it is moved.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]struct{}
}

type timer struct {
	at time.Time
	f  func()
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Unix(1_700_000_000, 0), timers: map[*timer]struct{}{}}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers[t] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}
