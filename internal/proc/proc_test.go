package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
)

// The test binary plays every child: the first argument names the part.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(0)
	case "flood":
		for range 3 << 10 {
			_, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), 1024))
		}
		fmt.Fprint(os.Stderr, "apart")
		os.Exit(4)
	case "env":
		fmt.Print(strings.Join(os.Environ(), "\n"))
		os.Exit(0)
	case "tty":
		tty, err := os.Open("/dev/tty")
		fmt.Println("tty:", err == nil, unix.Getpid() == must(unix.Getsid(0)))
		tty.Close()
		os.Exit(0)
	case "parent":
		actAsParent()
	case "reaper":
		actAsReaper()
	}
	os.Exit(m.Run())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// part starts the test binary in the given part with its stdin held open by the
// returned function.
func part(t *testing.T, spec proc.Spec, args ...string) (*proc.Process, *os.File) {
	t.Helper()
	r, w := must2(os.Pipe())
	spec.Path = proc.Self()
	spec.Args = append([]string{"part"}, args...)
	if len(spec.Files) == 0 {
		spec.Files = []*os.File{r, nil, os.Stderr}
	}
	p, err := proc.Start(spec)
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		_ = p.Signal(unix.SIGKILL)
		<-p.Done()
	})
	return p, w
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func wait(t *testing.T, p *proc.Process) proc.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 7, 255} {
		p, _ := part(t, proc.Spec{}, "exit", strconv.Itoa(code))
		if got := wait(t, p); got != (proc.Exit{Code: code}) || got.Status() != code {
			t.Errorf("exit %d: got %v", code, got)
		}
	}
	p, _ := part(t, proc.Spec{}, "cat")
	if err := p.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, p); got.Signal != unix.SIGTERM || got.Status() != 143 {
		t.Errorf("after SIGTERM: got %v", got)
	}
	if err := p.Signal(unix.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after the end: got %v", err)
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := proc.Start(proc.Spec{Path: "/no/such/program"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
}

// A parent-death signal follows the parent's thread. Children started from any
// goroutine must survive threads that end.
func TestChildrenSurviveThreadChurn(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	children := make([]*proc.Process, 20)
	for i := range children {
		wg.Go(func() {
			goruntime.LockOSThread() // and never unlock: this thread ends with the goroutine
			children[i], _ = part(t, proc.Spec{}, "cat")
		})
	}
	wg.Wait()
	for range 100 {
		wg.Go(func() { goruntime.LockOSThread() })
	}
	wg.Wait()
	for _, p := range children {
		select {
		case <-p.Done():
			t.Fatalf("child %d died with a thread: %v", p.PID(), p.Exit())
		default:
		}
		if err := p.Signal(0); err != nil {
			t.Fatalf("child %d: %v", p.PID(), err)
		}
	}
}

// actAsParent starts an ordinary and a detached child, tells their pids, and
// waits to be killed.
func actAsParent() {
	r, _ := must2(os.Pipe())
	spec := proc.Spec{Path: proc.Self(), Args: []string{"part", "cat"}, Files: []*os.File{r}}
	bound := must(proc.Start(spec))
	spec.Detached = true
	spec.Files = []*os.File{os.Stdin}
	free := must(proc.Start(spec))
	fmt.Println(bound.PID(), free.PID())
	<-bound.Done()
}

func TestParentDeath(t *testing.T) {
	t.Parallel()
	in, hold := must2(os.Pipe())
	out, w := must2(os.Pipe())
	parent, _ := part(t, proc.Spec{Files: []*os.File{in, w}}, "parent")
	w.Close()
	in.Close()
	var bound, free int
	if _, err := fmt.Fscan(bufio.NewReader(out), &bound, &free); err != nil {
		t.Fatal(err)
	}
	boundFD := must(unix.PidfdOpen(bound, 0))
	freeFD := must(unix.PidfdOpen(free, 0))
	if err := parent.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, parent)
	if !ends(t, boundFD, 10*time.Second) {
		t.Error("an ordinary child outlived its parent")
	}
	if ends(t, freeFD, 0) {
		t.Error("a detached child died with its parent")
	}
	hold.Close() // the detached child's input ends, and so does it
	if !ends(t, freeFD, 10*time.Second) {
		t.Error("the detached child did not end with its input")
	}
}

// ends reports whether the process behind pidfd ends within d.
func ends(t *testing.T, pidfd int, d time.Duration) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(d.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		t.Fatal(err)
	}
	return n == 1
}

func TestOutputIsBoundedAndApart(t *testing.T) {
	t.Parallel()
	stdout, stderr, exit, err := proc.Output(t.Context(), proc.Spec{Path: proc.Self(), Args: []string{"part", "flood"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(stdout) != 1<<20 || string(stderr) != "apart" || exit.Code != 4 {
		t.Errorf("got %d bytes, stderr %q, %v", len(stdout), stderr, exit)
	}
}

func TestOutputEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, w := must2(os.Pipe())
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, _, err := proc.Output(ctx, proc.Spec{Path: proc.Self(), Args: []string{"part", "cat"}, Files: []*os.File{r}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Parallel()
	stdout, _, _, err := proc.Output(t.Context(), proc.Spec{Path: proc.Self(), Args: []string{"part", "env"}})
	if err != nil || len(stdout) != 0 {
		t.Errorf("empty environment: got %q, %v", stdout, err)
	}
	stdout, _, _, err = proc.Output(t.Context(), proc.Spec{Path: proc.Self(), Args: []string{"part", "env"}, Env: []string{"A=b"}})
	if err != nil || string(stdout) != "A=b" {
		t.Errorf("one variable: got %q, %v", stdout, err)
	}
}

func TestControllingTerminal(t *testing.T) {
	t.Parallel()
	ptmx, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ptmx.Close()
	p, _ := part(t, proc.Spec{Files: []*os.File{slave, slave, slave}, Setsid: true, Setctty: true}, "tty")
	slave.Close()
	line, err := bufio.NewReader(ptmx).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "tty: true true" {
		t.Errorf("got %q, %v", line, err)
	}
	wait(t, p)
}

// actAsReaper becomes a subreaper, makes an orphan through a shell, and checks
// that the orphan is reaped while its own children keep their status.
func actAsReaper() {
	must(0, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go proc.ReapStrangers(ctx)
	// The shell's background job outlives it and is orphaned onto us.
	out, _, _, err := proc.Output(ctx, proc.Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "(exec >/dev/null 2>&1; read x <&3) & echo $!"},
		Files: []*os.File{nil, nil, nil, os.Stdin}})
	if err != nil {
		panic(err)
	}
	orphan := strings.TrimSpace(string(out))
	for i := range 50 {
		p := must(proc.Start(proc.Spec{Path: proc.Self(), Args: []string{"part", "exit", strconv.Itoa(i)}}))
		if exit := must(p.Wait(ctx)); exit.Code != i {
			panic(fmt.Sprintf("child %d: %v", i, exit))
		}
	}
	fmt.Println(orphan)
	select {} // until the test has looked
}

func TestReapStrangers(t *testing.T) {
	t.Parallel()
	in, hold := must2(os.Pipe())
	out, w := must2(os.Pipe())
	part(t, proc.Spec{Files: []*os.File{in, w, os.Stderr}}, "reaper")
	in.Close()
	w.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the reaper failed: %v", err)
	}
	orphan, _ := strconv.Atoi(strings.TrimSpace(line))
	fd := must(unix.PidfdOpen(orphan, 0))
	hold.Close()
	if !ends(t, fd, 10*time.Second) {
		t.Fatal("the orphan did not end")
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		// A zombie still answers to its pid; a reaped process does not.
		if err := unix.PidfdSendSignal(fd, 0, nil, 0); errors.Is(err, unix.ESRCH) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the orphan was never reaped")
		}
		goruntime.Gosched()
	}
}
