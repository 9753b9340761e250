//go:build sandbox

package supervisor_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

func TestExitStatusAndStreams(t *testing.T) {
	s := start(t, newSpec(t))
	if got := run(t, s, "echo", "hello"); got != (result{"hello\n", "", 0}) {
		t.Errorf("echo: %+v", got)
	}
	if got := sh(t, s, "echo out; echo err >&2; exit 42"); got != (result{"out\n", "err\n", 42}) {
		t.Errorf("exit status: %+v", got)
	}
	if got := sh(t, s, "kill -TERM $$"); got.code != 143 {
		t.Errorf("a signal: %+v", got)
	}
	if got := run(t, s, "no-such-command"); got.code != 127 {
		t.Errorf("a missing command: %+v", got)
	}
	got := sh(t, s, "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2")
	if len(got.stdout) != 300000 || len(got.stderr) != 300000 || got.code != 0 {
		t.Errorf("300 kB on each stream: %d and %d bytes, status %d", len(got.stdout), len(got.stderr), got.code)
	}
	in := strings.Repeat("x", 300000)
	if got := runWith(t, s, runtime.ExecSpec{Argv: []string{"cat"}, Dir: "/"}, in); got.stdout != in {
		t.Errorf("300 kB through cat: %d bytes", len(got.stdout))
	}
}

// terminal is a session on a pseudo-terminal.
type terminal struct {
	master  *os.File
	lines   *bufio.Reader
	process runtime.Process
}

func openTerminal(t *testing.T, s runtime.Sandbox, argv ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	p, err := s.Exec(t.Context(), runtime.ExecSpec{Session: domain.NewSessionID(), Argv: argv, Dir: "/workspace", TTY: slave})
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	return &terminal{master: master, lines: bufio.NewReader(master), process: p}
}

// expect reads lines until one holds want.
func (x *terminal) expect(t *testing.T, want string) {
	t.Helper()
	found := make(chan error, 1)
	var mu sync.Mutex
	var seen strings.Builder
	go func() {
		for {
			line, err := x.lines.ReadString('\n')
			mu.Lock()
			seen.WriteString(line)
			mu.Unlock()
			if strings.Contains(line, want) || err != nil {
				found <- err
				return
			}
		}
	}()
	select {
	case err := <-found:
		if err != nil {
			t.Fatalf("waiting for %q: %v after %q", want, err, seen.String())
		}
	case <-time.After(20 * time.Second):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("still waiting for %q after %q", want, seen.String())
	}
}

func (x *terminal) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(x.master, text); err != nil {
		t.Fatal(err)
	}
}

func TestTerminal(t *testing.T) {
	s := start(t, newSpec(t))
	t.Run("interrupt", func(t *testing.T) {
		// Not a command of its own: gVisor loses a signal that meets a vfork.
		x := openTerminal(t, s, "sh", "-c", "echo ready; read x")
		x.expect(t, "ready")
		x.write(t, "\x03")
		await(t, x.process.Done(), "end after ^C")
		if got := x.process.Exit().Code; got != 130 {
			t.Errorf("status after ^C: %d, want 130", got)
		}
	})
	t.Run("job control", func(t *testing.T) {
		x := openTerminal(t, s, "bash", "--norc", "-i")
		// The job speaks for itself: the typed line is echoed before it runs. It becomes
		// no other program: gVisor loses a stop that meets that.
		x.write(t, "sh -c 'echo up-$((1+1)); read x'\n")
		x.expect(t, "up-2")
		x.write(t, "\x1a")
		x.expect(t, "Stopped")
		// The second exit is for a shell that has not yet seen the job end.
		x.write(t, "\x15kill -KILL %1; wait\nexit 7\nexit 7\n")
		await(t, x.process.Done(), "end of the shell")
		if got := x.process.Exit().Code; got != 7 {
			t.Errorf("status of the shell: %d, want 7", got)
		}
	})
	t.Run("resize", func(t *testing.T) {
		x := openTerminal(t, s, "bash", "-c", `trap 'stty size; exit 0' WINCH; sleep 1000 & stty size; wait`)
		x.expect(t, "24 80")
		if err := pty.Setsize(x.master, &pty.Winsize{Rows: 50, Cols: 132}); err != nil {
			t.Fatal(err)
		}
		x.expect(t, "50 132")
		await(t, x.process.Done(), "end after the resize")
	})
}

func TestSignalAndEnd(t *testing.T) {
	s := start(t, newSpec(t))
	x := openTerminal(t, s, "sh", "-c", `trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.1; done`)
	x.expect(t, "ready")
	if err := x.process.Signal(t.Context(), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	x.expect(t, "caught")
	await(t, x.process.Done(), "end after the signal")
	if got := x.process.Exit().Code; got != 9 {
		t.Errorf("status: %d", got)
	}

	x = openTerminal(t, s, "bash", "-c", `trap '' HUP TERM; setsid sleep 1000 & (env -i setsid sleep 1000 &) ; echo ready; while :; do sleep 0.1; done`)
	x.expect(t, "ready")
	if n, err := x.process.End(t.Context()); err != nil || n < 3 {
		t.Errorf("ended %d processes, %v", n, err)
	}
	await(t, x.process.Done(), "end of an ended session")
	if got := sh(t, s, "ps -e -o comm | grep -c sleep"); got.stdout != "0\n" {
		t.Errorf("daemons left: %q", got.stdout)
	}
	if n, err := x.process.End(t.Context()); n != 0 || err != nil {
		t.Errorf("end again: %d, %v", n, err)
	}
}

func TestGuestFiles(t *testing.T) {
	s := start(t, newSpec(t))
	if err := s.WriteFile(t.Context(), "/root/a/b", 0o600, []byte("content")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ReadFile(t.Context(), "/root/a/b", 100); err != nil || string(got) != "content" {
		t.Errorf("read back %q, %v", got, err)
	}
	if _, err := s.ReadFile(t.Context(), "/root/a/b", 3); err == nil {
		t.Error("a file above the limit was read")
	}
	if err := s.Poke("/root/a/b"); err != nil {
		t.Error(err)
	}
}
