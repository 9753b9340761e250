package coordtest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/server"
	"lazaret.dev/lazaret/coordinator/session"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/fake"
)

// Limit is how long anything in these tests may take before the test fails.
const Limit = 20 * time.Second

// Domain is one served Domain.
type Domain struct {
	Server  *server.Server
	Sandbox *fake.Sandbox
	Config  server.Config

	t      testing.TB
	socket string
	done   chan struct{}
	cancel context.CancelFunc
}

// Grace is a close ladder a test can wait for.
var Grace = session.Grace{
	Hangup:    50 * time.Millisecond,
	Terminate: 50 * time.Millisecond,
	Kill:      Limit,
	Drain:     200 * time.Millisecond,
	Send:      200 * time.Millisecond,
}

// Plan is a plan of a Domain that exists nowhere.
func Plan(t testing.TB) plan.Plan {
	id, digest := domain.Identify("shell", "/home/dev/project")
	facts := []wire.Fact{{Name: "image", Value: "builtin"}, {Name: "user", Value: "root"}}
	sum := sha256.Sum256([]byte("builtin root"))
	p := plan.Plan{
		Domain: id, Digest: digest[:], Profile: "shell", Workspace: "/home/dev/project",
		Fingerprint: sum[:], Facts: facts,
		Spec:     runtime.Spec{Domain: id, WorkspaceGuest: "/workspace", IDs: runtime.IDs{Mode: runtime.ModeSingle}},
		Command:  []string{"echo", "the profile's command"},
		DataRoot: t.TempDir(), RuntimeDir: t.TempDir(),
	}
	for _, dir := range []string{"log", "gen"} {
		if err := os.MkdirAll(filepath.Join(p.Root(), dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Serve serves a Domain until the test ends; change adjusts its configuration.
func Serve(t testing.TB, launcher *fake.Launcher, change ...func(*server.Config)) *Domain {
	t.Helper()
	sandbox, err := launcher.Launch(t.Context(), runtime.Spec{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	d := &Domain{t: t, Sandbox: sandbox.(*fake.Sandbox), done: make(chan struct{})}
	d.socket = filepath.Join(shortDir(t), "s")
	listener, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	d.Config = server.Config{
		Plan: Plan(t), Generation: domain.NewGeneration(), Sandbox: sandbox,
		Listener: listener, Unpublish: func() { listener.Close() },
		Grace: Grace, FirstClient: Limit,
		PeerUID: server.PeerUID, UID: os.Getuid(),
		Log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&d.Config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.Server = server.New(d.Config)
	go func() {
		defer close(d.done)
		d.Server.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		d.AwaitEnd()
	})
	return d
}

// shortDir is a directory whose name leaves room for a socket's.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "lz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Shutdown asks the coordinator to end.
func (d *Domain) Shutdown() { d.cancel() }

// AwaitEnd waits until the server has ended.
func (d *Domain) AwaitEnd() {
	d.t.Helper()
	select {
	case <-d.done:
	case <-time.After(Limit):
		d.t.Error("the server did not end")
	}
}

// Dial connects to the Domain's socket.
func (d *Domain) Dial() net.Conn {
	d.t.Helper()
	conn, err := net.Dial("unix", d.socket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	return conn
}

// Hello is a greeting the Domain accepts.
func (d *Domain) Hello() wire.Hello {
	return wire.Hello{
		Client: domain.NewClientID(), Domain: d.Config.Plan.Domain,
		Fingerprint: d.Config.Plan.Fingerprint, Facts: d.Config.Plan.Facts,
	}
}

// Anchor is a session anchor for tests.
func Anchor() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

// Open opens a session that runs argv, on a terminal when size is not zero.
func (d *Domain) Open(size wire.Size, argv ...string) *Actor {
	d.t.Helper()
	s, err := d.TryOpen(d.Hello(), wire.Start{Argv: argv, TTY: size.Rows > 0, Size: size})
	if err != nil {
		d.t.Fatalf("open session %q: %v", argv, err)
	}
	return &Actor{Session: s, t: d.t}
}

// TryOpen opens a session with the given greeting.
func (d *Domain) TryOpen(hello wire.Hello, start wire.Start) (*client.Session, error) {
	d.t.Helper()
	s, err := client.Open(d.t.Context(), d.Dial(), hello, start, Anchor())
	if err == nil {
		d.t.Cleanup(func() { s.Close() })
	}
	return s, err
}

type testWriter struct{ t testing.TB }

// Write logs while the test runs; a server may log a little longer than that.
func (w testWriter) Write(p []byte) (int, error) {
	select {
	case <-w.t.Context().Done():
	default:
		w.t.Log(string(p))
	}
	return len(p), nil
}
