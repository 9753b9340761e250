package desk_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/client"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// sandboxKey reads the key as a guest would.
func (h *house) sandboxKey(t *testing.T) seal.SandboxKey {
	t.Helper()
	seed, err := os.ReadFile(filepath.Join(h.base, "credential", wire.SandboxKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	k, err := seal.SandboxKeyFrom(seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// put writes any bytes under any name.
func (h *house) put(t *testing.T, name string, data []byte) {
	t.Helper()
	temporary := filepath.Join(h.base, "requests", name[:32]+".tmp")
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(h.base, "requests", name)); err != nil {
		t.Fatal(err)
	}
}

func (g *guest) request(t *testing.T, argv ...string) wire.Request {
	t.Helper()
	capability, err := base64.RawURLEncoding.DecodeString(g.capability)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Request{ID: domain.NewRequestID(), Session: g.id, Argv: argv, Dir: g.house.workspace, Capability: capability}
}

func (g *guest) sealed(t *testing.T, r wire.Request) []byte {
	t.Helper()
	b, err := wire.SealSandbox(g.house.sandboxKey(t), seal.Request, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A hostile mailbox is refused without harm, and what comes next is shown.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	h := open(t)
	g, other := h.session(t), h.session(t)
	good := g.request(t, "true")
	tampered := g.sealed(t, good)
	tampered[len(tampered)-1] ^= 1
	stranger, err := seal.NewSandboxKey()
	if err != nil {
		t.Fatal(err)
	}
	forged, err := wire.SealSandbox(stranger, seal.Request, good)
	if err != nil {
		t.Fatal(err)
	}
	wrongSession := good
	wrongSession.Session = other.id
	wrongName := g.request(t, "true")
	gone := g.request(t, "true")
	gone.Session = domain.NewSessionID()
	for name, b := range map[string][]byte{
		wire.RequestName(good.ID):               tampered,
		wire.RequestName(domain.NewRequestID()): g.sealed(t, wrongName),
		wire.CancelName(good.ID):                g.sealed(t, good), // a request under a cancellation's name
		wire.AckName(good.ID, 1, false):         []byte("rubbish"),
	} {
		h.put(t, name, b)
	}
	h.put(t, wire.RequestName(domain.NewRequestID()), forged)
	h.put(t, wire.RequestName(gone.ID), g.sealed(t, gone))
	h.put(t, wire.RequestName(wrongSession.ID), g.sealed(t, wrongSession))
	if err := unix.Mkfifo(filepath.Join(h.base, "requests", wire.RequestName(domain.NewRequestID())), 0o666); err != nil {
		t.Fatal(err)
	}
	a := g.ask(t, "echo", "proper")
	if p := g.approve(t); strings.Join(p.Request.Argv, " ") != "echo proper" {
		t.Errorf("shown: %q", p.Request.Argv)
	}
	if stdout, _ := a.wait(t, 0); stdout != "proper\n" {
		t.Errorf("got %q", stdout)
	}
	if n := len(g.pending) + len(other.pending); n != 0 {
		t.Errorf("%d hostile requests were shown", n)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	mark := filepath.Join(h.workspace, "mark")
	r := g.request(t, "sh", "-c", "echo x >>"+mark)
	b := g.sealed(t, r)
	h.put(t, wire.RequestName(r.ID), b)
	g.approve(t)
	g.expect(t, escalate.OutcomeRan)
	h.put(t, wire.RequestName(r.ID), b) // while its result waits
	h.clock.advance(2 * time.Minute)    // the result is given up
	h.put(t, wire.RequestName(r.ID), b) // and after
	g.ask(t, "true")
	if p := receive(t, "the next request", g.pending); p.Request.ID == r.ID {
		t.Error("a replayed request was shown")
	}
	if got, err := os.ReadFile(mark); err != nil || string(got) != "x\n" {
		t.Errorf("it ran as %q, %v", got, err)
	}
}

// What the client says about its own surroundings, without asking anyone.
func TestClientWithoutACapability(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	off, stray := *g, *g
	off.capability, stray.id = "", ""
	for want, guest := range map[string]*guest{"escalation is off": &off, "belongs to no session": &stray} {
		if _, stderr := guest.ask(t, "true").wait(t, client.ExitNotRun); !strings.Contains(stderr, want) {
			t.Errorf("the asker reads %q, want %q", stderr, want)
		}
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	h := open(t)
	g, quiet := h.session(t), h.session(t)
	const bad = 500
	for i := range 1000 {
		r := g.request(t, "echo", "same")
		if i == bad {
			r.Argv = []string{"rm", "-rf", "x"}
		}
		h.put(t, wire.RequestName(r.ID), g.sealed(t, r))
	}
	a := quiet.ask(t, "echo", "another session")
	quiet.approve(t)
	a.wait(t, 0)
	until(t, "the end of the flood", func() bool {
		left, err := os.ReadDir(filepath.Join(h.base, "requests"))
		return err == nil && len(left) == 0
	})
	shown := h.Pending(g.id)
	if len(shown) == 0 || len(shown) > 20 {
		t.Errorf("%d of 1000 were shown, want at most 20", len(shown))
	}
	for _, p := range shown { // each by itself, never as one of a group
		if p.Request.Argv[0] != "echo" {
			t.Errorf("shown: %q", p.Request.Argv)
		}
	}
	if left, err := os.ReadDir(filepath.Join(h.base, "results")); err != nil || len(left) > 300 {
		t.Errorf("%d results are kept, %v", len(left), err)
	}
	h.clock.advance(2 * time.Second) // one more
	g.ask(t, "echo", "later")
	for range shown {
		receive(t, "the flood", g.pending)
	}
	if p := receive(t, "the next request", g.pending); p.Request.Argv[1] != "later" {
		t.Errorf("shown: %q", p.Request.Argv)
	}
}

func TestClientWithdraws(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	a := g.ask(t, "true")
	p := receive(t, "the request", g.pending)
	a.stop()
	a.wait(t, client.ExitInterrupt)
	g.expect(t, escalate.OutcomeCancelled)
	if err := g.decide(t, g.decision(p, escalate.VerdictApprove)); err == nil {
		t.Error("a withdrawn request was approved")
	}
	h.nothingLeft(t)
}

func TestTimeoutWithdraws(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	if _, stderr := g.ask(t, "--timeout", "50ms", "true").wait(t, client.ExitNotRun); !strings.Contains(stderr, "--timeout") {
		t.Errorf("the asker reads %q", stderr)
	}
	g.expect(t, escalate.OutcomeCancelled)
}

// running starts a command that would not end by itself, and returns its pidfd.
func (g *guest) running(t *testing.T) (*asking, int) {
	t.Helper()
	a := g.ask(t, "sh", "-c", "echo $$; exec sleep 1000")
	g.approve(t)
	until(t, "the first output", func() bool { return strings.HasSuffix(a.stdout.String(), "\n") })
	pid, err := strconv.Atoi(strings.TrimSpace(a.stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return a, fd
}

func ended(pidfd int) bool {
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return n == 1
}

func TestWithdrawalEndsWhatRuns(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	a, pidfd := g.running(t)
	a.stop()
	a.wait(t, client.ExitInterrupt)
	g.expect(t, escalate.OutcomeCancelled)
	if !ended(pidfd) {
		t.Error("it runs on")
	}
	h.nothingLeft(t)
}

func TestSessionEndEndsItsRequests(t *testing.T) {
	t.Parallel()
	h := open(t)
	g, other := h.session(t), h.session(t)
	waits := g.ask(t, "true")
	receive(t, "the request", g.pending)
	runs, pidfd := g.running(t)
	_, otherPidfd := other.running(t)
	h.RemoveSession(g.id)
	if !ended(pidfd) {
		t.Error("it runs on")
	}
	if ended(otherPidfd) {
		t.Error("another session's command ended too")
	}
	for _, a := range []*asking{waits, runs} {
		if _, stderr := a.wait(t, client.ExitNotRun); !strings.Contains(stderr, "session ended") {
			t.Errorf("the asker reads %q", stderr)
		}
	}
	if _, stderr := g.ask(t, "true").wait(t, client.ExitNotRun); !strings.Contains(stderr, "session ended") {
		t.Errorf("a late asker reads %q", stderr)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	_, pidfd := g.running(t)
	h.Close()
	if !ended(pidfd) {
		t.Error("it runs on")
	}
	h.Close() // again is fine
}

// Ten megabytes through a client that at first takes nothing: the program waits,
// nothing is lost, and never more than eight chunks lie in the mailbox.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	const lines = 1 << 20 // of ten bytes
	gate := make(chan struct{})
	a := g.askGated(t, gate, "sh", "-c", fmt.Sprintf("seq -f %%09.0f 1 %d; touch done", lines))
	g.approve(t)
	chunks := func() int {
		left, err := filepath.Glob(filepath.Join(h.base, "results", "*.chunk"))
		if err != nil {
			t.Fatal(err)
		}
		return len(left)
	}
	until(t, "a full mailbox", func() bool { return chunks() == wire.MaxUnacknowledged })
	if _, err := os.Stat(filepath.Join(h.workspace, "done")); err == nil {
		t.Error("the program ended although nobody reads")
	}
	over := 0
	close(gate)
	for !isDone(a.done) {
		if chunks() > wire.MaxUnacknowledged {
			over++
		}
	}
	stdout, _ := a.wait(t, 0)
	if over > 0 {
		t.Errorf("more than %d chunks lay in the mailbox %d times", wire.MaxUnacknowledged, over)
	}
	if len(stdout) != lines*10 {
		t.Fatalf("got %d bytes of %d", len(stdout), lines*10)
	}
	for i := range lines {
		if want := fmt.Sprintf("%09d\n", i+1); stdout[i*10:i*10+10] != want {
			t.Fatalf("line %d is %q", i+1, stdout[i*10:i*10+10])
		}
	}
	h.nothingLeft(t)
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Output nobody takes ends the program after the acknowledgement time-out.
func TestAcknowledgementTimeout(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	r := g.request(t, "yes") // asked by hand: nobody reads the result
	h.put(t, wire.RequestName(r.ID), g.sealed(t, r))
	g.approve(t)
	until(t, "a full mailbox", func() bool {
		left, _ := filepath.Glob(filepath.Join(h.base, "results", "*.chunk"))
		return len(left) == wire.MaxUnacknowledged
	})
	until(t, "the time-out", func() bool {
		h.clock.advance(time.Minute + time.Second)
		return len(g.resolved) >= 2
	})
	if r := g.expect(t, escalate.OutcomeCancelled); !strings.Contains(r.detail, "took the output") {
		t.Errorf("resolved: %+v", r)
	}
	h.clock.advance(2 * time.Minute)
	h.nothingLeft(t)
}

// What a command leaves behind does not hold up its result.
func TestLeftBehindHolderOfThePipes(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	a := g.ask(t, "sh", "-c", "echo first; sleep 60 & echo second")
	g.approve(t)
	if stdout, _ := a.wait(t, 0); stdout != "first\nsecond\n" {
		t.Errorf("got %q", stdout)
	}
}

// One stream each, and what one command writes first is read first.
func TestStreamsStayApartAndInOrder(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	a := g.ask(t, "sh", "-c", "i=0; while [ $i -lt 200 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done")
	g.approve(t)
	stdout, stderr := a.wait(t, 0)
	var wantOut, wantErr strings.Builder
	for i := range 200 {
		fmt.Fprintf(&wantOut, "o%d\n", i)
		fmt.Fprintf(&wantErr, "e%d\n", i)
	}
	if stdout != wantOut.String() || stderr != wantErr.String() {
		t.Errorf("got %.100q and %.100q", stdout, stderr)
	}
}
