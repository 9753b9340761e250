package guest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/guest"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// TestMain lets the test binary be the guest binary, first on this very kernel.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch mode := os.Args[1]; {
		case mode == control.ModeInit && os.Getpid() != 1:
			os.Exit(guest.InitWithoutCgroups(os.Args[2:], os.Stdin, os.Stdout))
		case mode == control.ModeSession && os.Getenv("GUEST_TEST") == "host":
			os.Exit(guest.SessionWithoutCgroups(os.Args[2:]))
		case mode == control.ModeInit:
			os.Exit(guest.InitMain(os.Args[2:]))
		case mode == control.ModeSession:
			os.Exit(guest.SessionMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// wrapped returns the wrapper around a shell script, on this kernel.
func wrapped(t *testing.T, id domain.SessionID, command ...string) *exec.Cmd {
	t.Helper()
	argv := control.Session{ID: id, Command: command, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}.Argv()
	if os.Getuid() != 0 {
		// setgroups(2) is not for ordinary users: start the command as we are.
		argv = control.Session{ID: id, Command: command}.Argv()
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", argv[1:]...)
	cmd.Env = append(os.Environ(), "GUEST_TEST=host")
	return cmd
}

func TestWrapperReportsTheExactStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command []string
		want    int
	}{
		"success":        {[]string{"true"}, 0},
		"code":           {[]string{"sh", "-c", "exit 42"}, 42},
		"255":            {[]string{"sh", "-c", "exit 255"}, 255},
		"signal":         {[]string{"sh", "-c", "kill -9 $$"}, 137},
		"caught signal":  {[]string{"sh", "-c", "trap 'exit 5' TERM; kill $$; exit 6"}, 5},
		"not found":      {[]string{"no-such-command"}, 127},
		"no such path":   {[]string{"/no/such/command"}, 127},
		"not executable": {[]string{"/etc/passwd"}, 126},
		"directory":      {[]string{"/etc"}, 126},
		"code by orphan": {[]string{"sh", "-c", "(sleep 1; exit 9) & exit 3"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := wrapped(t, domain.NewSessionID(), c.command...).Run()
			var exit *exec.ExitError
			code := 0
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.want {
				t.Errorf("status %d, want %d", code, c.want)
			}
		})
	}
}

// The wrapper takes these signals away from itself only: were one ignored, the
// command would ignore it too.
func TestWrapperLeavesSignalsAlone(t *testing.T) {
	t.Parallel()
	out, err := wrapped(t, domain.NewSessionID(), "grep", "SigIgn", "/proc/self/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(out))
	mask, err := strconv.ParseUint(fields[len(fields)-1], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGHUP} {
		if mask&(1<<(sig-1)) != 0 {
			t.Errorf("the command ignores %v", sig)
		}
	}
}

// script makes every kind of process that outlives its shell, and prints their pids.
const daemons = `
sleep 1000 & echo $!
setsid sleep 1001 & echo $!
(sleep 1002 & echo $!)
env -i /bin/sh -c 'trap "" HUP TERM; echo $$; exec sleep 1003 <&- >&- 2>&-' &
sleep 0.2
`

func TestWrapperEndsWhatTheCommandLeft(t *testing.T) {
	t.Parallel()
	out, err := wrapped(t, domain.NewSessionID(), "sh", "-c", daemons+"exit 4").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Fatalf("wrapper: %v", err)
	}
	pids := strings.Fields(string(out))
	if len(pids) != 4 {
		t.Fatalf("the script started %q", pids)
	}
	for _, pid := range pids {
		if alive(t, pid) {
			t.Errorf("process %s is left", pid)
		}
	}
}

func alive(t *testing.T, pid string) bool {
	t.Helper()
	line, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	p, ok := guest.ParseStat(string(line))
	return ok && !p.Dead
}

func TestWrapperPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send unix.Signal
		want int
	}{
		"terminate":      {unix.SIGTERM, 143},
		"hang up":        {unix.SIGHUP, 129},
		"interrupt":      {unix.SIGINT, 130},
		"relayed kill":   {34 + unix.SIGKILL, 137},
		"relayed user 1": {34 + unix.SIGUSR1, 138},
		"relayed to PWR": {34 + unix.SIGPWR, 158},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := wrapped(t, domain.NewSessionID(), "sh", "-c", "echo up; exec sleep 1000")
			waitUp(t, cmd)
			if err := cmd.Process.Signal(c.send); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != c.want {
				t.Errorf("wrapper: %v, want status %d", err, c.want)
			}
		})
	}
}

// waitUp starts cmd and returns when it has printed its first line.
func waitUp(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal("the command printed nothing: ", err)
	}
}

// startInit starts the guest init on this kernel, where it is no PID 1.
func startInit(t *testing.T) *control.Client {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", control.Init{}.Argv()[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := control.NewClient(in, out)
	t.Cleanup(func() {
		c.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the init ended with %v: %s", err, complaints.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestInitEndsAndSignalsSessions(t *testing.T) {
	t.Parallel()
	c := startInit(t)
	id := domain.NewSessionID()
	cmd := wrapped(t, id, "sh", "-c", "trap 'echo got' USR1; (setsid sleep 1000 &); echo up; while :; do sleep 0.01; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	if err := c.SignalSession(t.Context(), id, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "got" {
		t.Fatalf("the signal did not arrive: %q", lines.Text())
	}
	if n, err := c.EndSession(t.Context(), id); n < 3 || err != nil {
		t.Errorf("EndSession = %d, %v", n, err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 137 {
		t.Errorf("wrapper: %v", err)
	}
	if _, err := c.EndSession(t.Context(), id); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	if err := c.SignalSession(t.Context(), id, unix.SIGUSR1); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("signal after the end: %v", err)
	}
	if err := c.SignalSession(t.Context(), id, 63); err == nil {
		t.Error("signal 63 was relayed")
	}
}

func TestInitMovesFiles(t *testing.T) {
	t.Parallel()
	c := startInit(t)
	path := t.TempDir() + "/f"
	if err := c.WriteFile(t.Context(), path, 0o600, []byte("data")); err != nil {
		t.Fatal(err)
	}
	if b, err := c.ReadFile(t.Context(), path, 4); string(b) != "data" || err != nil {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
	if _, err := c.ReadFile(t.Context(), path, 3); !errors.Is(err, control.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if err := c.Poke(t.Context(), path); err != nil {
		t.Error(err)
	}
	if err := c.Poke(t.Context(), path+"x"); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("poke: %v", err)
	}
	if s, err := c.Stats(t.Context()); s.Processes == 0 || s.ProcessLimit || err != nil {
		t.Errorf("Stats = %+v, %v", s, err)
	}
}
