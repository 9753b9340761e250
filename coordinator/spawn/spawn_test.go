package spawn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/handover"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/server"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/fake"
)

// TestMain makes this binary a coordinator over the fake runtime when it is
// started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == handover.Mode {
		os.Exit(server.Main(server.Wiring{Launcher: launcher(os.Getenv("TEST_COORDINATOR"))}))
	}
	os.Exit(m.Run())
}

func launcher(how string) runtime.Launcher {
	switch how {
	case "fail":
		return &fake.Launcher{Fail: &fault.Error{Kind: fault.Host, Message: "no gVisor here", Fix: "install it"}}
	case "hang":
		return hanging{}
	case "die":
		return dying{}
	}
	return &fake.Launcher{Steps: []string{"mount the overlays"}}
}

type hanging struct{}

func (hanging) Launch(ctx context.Context, _ runtime.Spec, progress func(string)) (runtime.Sandbox, error) {
	progress("wait for the guest")
	<-ctx.Done()
	return nil, ctx.Err()
}

type dying struct{}

func (dying) Launch(_ context.Context, _ runtime.Spec, progress func(string)) (runtime.Sandbox, error) {
	progress("mount the overlays")
	os.Exit(3)
	return nil, nil
}

const limit = 20 * time.Second

// world is one Storage Root and the openers that use it.
type world struct {
	t      *testing.T
	opener spawn.Opener
	plan   plan.Plan
}

func newWorld(t *testing.T) *world {
	t.Helper()
	runtimeDir, err := os.MkdirTemp("", "lz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtimeDir) })
	id, digest := domain.Identify("shell", "/w")
	w := &world{t: t, plan: plan.Plan{
		Domain: id, Digest: digest[:], Profile: "shell", Workspace: "/w",
		Fingerprint: make([]byte, 32), Facts: []wire.Fact{{Name: "image", Value: "builtin"}},
		Spec:     runtime.Spec{Domain: id, WorkspaceGuest: "/workspace", Anchors: nil},
		Command:  []string{"echo", "default"},
		DataRoot: t.TempDir(), RuntimeDir: runtimeDir,
	}}
	w.opener = spawn.Opener{
		Plan: func(context.Context, string, string, func(string)) (plan.Plan, error) { return w.plan, nil },
		Path: proc.Self(), Args: []string{"coordinator", handover.Mode}, Env: os.Environ(),
	}
	t.Cleanup(w.awaitEnd)
	return w
}

// awaitEnd waits until no coordinator holds the Domain any more.
func (w *world) awaitEnd() {
	if _, err := os.Stat(w.plan.Root()); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	lock, err := root.Lock(ctx, root.LockPath(w.plan.Root()))
	if err != nil {
		w.t.Errorf("the coordinator does not end: %v", err)
		return
	}
	lock.Close()
}

func (w *world) open(argv ...string) (*client.Session, []string, error) {
	var mu sync.Mutex
	var steps []string
	s, err := w.opener.Open(w.t.Context(), spawn.Request{Profile: "shell", Workspace: "/w", Start: wire.Start{Argv: argv}},
		func(step string) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, step)
		})
	if err == nil {
		w.t.Cleanup(func() { s.Close() })
	}
	mu.Lock()
	defer mu.Unlock()
	return s, steps, err
}

func (w *world) mustOpen(argv ...string) *client.Session {
	w.t.Helper()
	s, _, err := w.open(argv...)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// finish reads a session to its end and returns its output and last event.
func finish(t *testing.T, s *client.Session) (string, client.Event) {
	t.Helper()
	late := time.After(limit)
	var out strings.Builder
	var last client.Event
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				return out.String(), last
			}
			if o, ok := e.(client.Output); ok {
				out.Write(o.Data)
			}
			last = e
		case <-late:
			t.Fatalf("the session does not end; output %q", out.String())
		}
	}
}

func awaitStarted(t *testing.T, s *client.Session) {
	t.Helper()
	for e := range s.Events() {
		if _, ok := e.(client.Started); ok {
			return
		}
	}
	t.Fatal("the command was not started")
}

func TestFirstClientStartsTheCoordinatorAndItEndsAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, steps, err := w.open("echo", "hi")
	if err != nil {
		t.Fatal(err)
	}
	if out, last := finish(t, s); out != "hi\n" || last != (client.Exit{}) {
		t.Errorf("output %q, last event %+v", out, last)
	}
	if all := strings.Join(steps, ","); !strings.Contains(all, "mount the overlays") || !strings.HasSuffix(all, "open the socket") {
		t.Errorf("steps = %v", steps)
	}
	w.awaitEnd()
	left, _ := filepath.Glob(filepath.Join(w.plan.RuntimeDir, "*"))
	generations, _ := filepath.Glob(filepath.Join(w.plan.Root(), "gen", "*"))
	if _, err := root.ReadEndpoint(w.plan.Root()); err == nil || len(left)+len(generations) > 0 {
		t.Errorf("left behind: endpoint (err %v), %v, %v", err, left, generations)
	}
	log, err := os.ReadFile(filepath.Join(w.plan.Root(), "log", "coordinator.log"))
	if err != nil || !strings.Contains(string(log), "proof of teardown: nothing is left") {
		t.Errorf("no proof in the log (%v):\n%s", err, log)
	}
	// The Domain starts again.
	if out, _ := finish(t, w.mustOpen("echo", "again")); out != "again\n" {
		t.Errorf("second start: %q", out)
	}
}

func TestFollowersJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const clients = 6
	sessions := make([]*client.Session, clients)
	var group sync.WaitGroup
	for i := range sessions {
		group.Go(func() {
			s, _, err := w.open("cat")
			if err != nil {
				t.Error(err)
				return
			}
			sessions[i] = s
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	for _, s := range sessions {
		if s.Welcome().Generation != sessions[0].Welcome().Generation {
			t.Error("two coordinators serve one Domain")
		}
	}
	for _, s := range sessions {
		s.CloseInput()
		finish(t, s)
	}
}

func TestAnotherConfigurationIsAConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := w.mustOpen("cat")
	awaitStarted(t, hold)
	same := w.plan
	w.plan.Fingerprint = []byte(strings.Repeat("x", 32))
	w.plan.Facts = []wire.Fact{{Name: "image", Value: "oci:/other"}}
	_, _, err := w.open("echo")
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "image is builtin, you ask for oci:/other") {
		t.Errorf("err = %v", err)
	}
	w.plan = same
	finish(t, w.mustOpen("echo"))
	hold.Close()
}

func TestLaunchFailureIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opener.Env = append(w.opener.Env, "TEST_COORDINATOR=fail")
	_, _, err := w.open("echo")
	if fault.KindOf(err) != fault.Host || err.Error() != "no gVisor here" || fault.FixOf(err) != "install it" {
		t.Errorf("err = %v, fix %q", err, fault.FixOf(err))
	}
}

func TestACoordinatorThatDiesOrHangsIsNamedByItsLastStep(t *testing.T) {
	t.Parallel()
	for how, step := range map[string]string{"die": "mount the overlays", "hang": "wait for the guest"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.opener.Env = append(w.opener.Env, "TEST_COORDINATOR="+how)
			w.opener.StartTimeout = 2 * time.Second
			_, _, err := w.open("echo")
			if fault.KindOf(err) != fault.Sandbox || !strings.Contains(err.Error(), "last step was: "+step) {
				t.Errorf("err = %v", err)
			}
			if !strings.Contains(fault.FixOf(err), "coordinator.log") {
				t.Errorf("fix = %q", fault.FixOf(err))
			}
		})
	}
}

// TestKilledCoordinator: its clients are told, and the next start finds nothing
// in its way.
func TestKilledCoordinator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mustOpen("cat")
	awaitStarted(t, s)
	conn, err := spawn.Dial(t.Context(), w.plan.Root())
	if err != nil {
		t.Fatal(err)
	}
	st, err := client.Query(t.Context(), conn, wire.Hello{Domain: w.plan.Domain, Client: domain.NewClientID()})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(st.CoordinatorID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, last := finish(t, s)
	lost, ok := last.(client.Lost)
	if !ok || !strings.Contains(lost.Err.Error(), "ended unexpectedly") {
		t.Errorf("last event = %+v", last)
	}
	// The client that saw it clears up, without another start.
	if err := root.AwaitSwept(t.Context(), w.plan.DataRoot, w.plan.Profile, w.plan.Workspace); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.plan.RuntimeDir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if out, _ := finish(t, w.mustOpen("echo", "again")); out != "again\n" {
		t.Errorf("second start: %q", out)
	}
	w.awaitEnd()
	if left, _ := filepath.Glob(filepath.Join(w.plan.RuntimeDir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestStartWhileTearingDown: a client that comes while the last one leaves gets
// the next generation.
func TestStartWhileTearingDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 10 {
		s, _, err := w.open("echo", "x")
		if err != nil {
			t.Fatal(err)
		}
		if out, last := finish(t, s); out != "x\n" {
			t.Fatalf("output %q, last event %+v", out, last)
		}
	}
}

func TestAHeldLockIsWaitedForAndThenNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, err := root.Open(w.plan)
	if err != nil {
		t.Fatal(err)
	}
	lock, ok, err := root.TryLock(root.LockPath(dir))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	w.opener.WaitTimeout = 100 * time.Millisecond
	_, _, err = w.open("echo")
	if fault.KindOf(err) != fault.Workspace || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { lock.Close() })
	w.opener.WaitTimeout = limit
	finish(t, w.mustOpen("echo"))
}

func TestForeignDomainRootIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	finish(t, w.mustOpen("echo"))
	w.awaitEnd()
	mine := w.plan.Digest
	w.plan.Digest = append([]byte{mine[0] ^ 1}, mine[1:]...)
	_, _, err := w.open("echo")
	if fault.KindOf(err) != fault.Workspace || !strings.Contains(err.Error(), "belongs to shell in /w") {
		t.Errorf("err = %v", err)
	}
	w.plan.Digest = mine
	finish(t, w.mustOpen("echo"))
}

func TestRuntimeDirOfOthersIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := w.mustOpen("cat")
	awaitStarted(t, hold)
	endpoint, err := root.ReadEndpoint(w.plan.Root())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(endpoint.Socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := spawn.Dial(t.Context(), w.plan.Root()); fault.KindOf(err) != fault.Workspace {
		t.Errorf("err = %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	finish(t, w.mustOpen("echo"))
}

func TestArgumentsThatAreNotTextAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, bad := range []string{"a\xff", "a\x00b"} {
		if _, _, err := w.open("echo", bad); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: err = %v", bad, err)
		}
	}
	if out, _ := finish(t, w.mustOpen("echo", "ä")); out != "ä\n" {
		t.Errorf("output %q", out)
	}
}
