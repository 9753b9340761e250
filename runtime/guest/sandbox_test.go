//go:build sandbox

package guest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// sandbox is a real one around the guest init: this test binary over the host's
// /usr, read-only, and no network.
type sandbox struct {
	t     *testing.T
	runsc []string
	pid   int
	ended chan struct{}
	guest *control.Client
}

const taskLimit = 60

func startSandbox(t *testing.T) *sandbox {
	t.Helper()
	bin := os.Getenv("LAZARET_TEST_BIN")
	if bin == "" {
		t.Fatal("LAZARET_TEST_BIN must name the folder with runsc (make test sets it)")
	}
	dir := t.TempDir()
	writeBundle(t, dir)
	s := &sandbox{t: t, ended: make(chan struct{}), runsc: []string{
		filepath.Join(bin, "runsc"), "--root=" + dir + "/state", "--network=none", "--ignore-cgroups", "--overlay2=none", "--in-sandbox-cgroup=v2",
	}}
	cmd := exec.Command("unshare", append(append([]string{"-Um", "--map-root-user"}, s.runsc...), "run", "--bundle", dir, "guest")...)
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
	s.pid, s.guest = cmd.Process.Pid, control.NewClient(in, out)
	go func() { defer close(s.ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		s.guest.Close()
		select {
		case <-s.ended:
		case <-time.After(10 * time.Second):
			t.Error("the sandbox outlives its control channel")
			_ = cmd.Process.Kill()
		}
		if t.Failed() {
			t.Log(complaints.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.guest.Ready(ctx); err != nil {
		t.Fatal(err, complaints.String())
	}
	return s
}

func writeBundle(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rootfs := filepath.Join(dir, "rootfs")
	for _, d := range []string{"usr", "proc", "dev", "tmp", "sys", "etc", "run/lazaret/bin"} {
		if err := os.MkdirAll(filepath.Join(rootfs, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+l, filepath.Join(rootfs, l)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(rootfs, control.GuestBinary), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	caps := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP"}
	type m = map[string]any
	mount := func(kind, at, source string, options ...string) m {
		return m{"type": kind, "destination": at, "source": source, "options": options}
	}
	spec, err := json.Marshal(m{
		"ociVersion": "1.1.0",
		"process": m{
			"user": m{"uid": 0, "gid": 0}, "cwd": "/", "noNewPrivileges": true,
			"args":         control.Init{}.Argv(),
			"env":          []string{"PATH=/usr/bin:/usr/sbin", "TERM=dumb", "PS1=ready "},
			"capabilities": m{"bounding": caps, "effective": caps, "permitted": caps},
		},
		"root": m{"path": "rootfs"},
		"mounts": []m{
			mount("proc", "/proc", "proc"), mount("tmpfs", "/dev", "tmpfs"), mount("tmpfs", "/tmp", "tmpfs"),
			mount("sysfs", "/sys", "sysfs", "ro"), mount("cgroup", "/sys/fs/cgroup", "cgroup"),
			mount("bind", "/usr", "/usr", "bind", "ro"), mount("bind", control.GuestBinary, self, "bind", "ro"),
		},
		"linux": m{"namespaces": []m{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), spec, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exec returns the client that runs one session in the sandbox.
func (s *sandbox) exec(session control.Session) *exec.Cmd {
	args := []string{"-U", "-m", "--preserve-credentials", "-t", strconv.Itoa(s.pid)}
	args = append(append(append(args, s.runsc...), "exec", "guest"), session.Argv()...)
	return exec.Command("nsenter", args...)
}

func (s *sandbox) script(id domain.SessionID, script string) *exec.Cmd {
	return s.exec(control.Session{ID: id, Processes: taskLimit, Command: []string{"sh", "-c", script}})
}

// output runs a session to its end.
func (s *sandbox) output(session control.Session) (string, int) {
	s.t.Helper()
	out, err := s.exec(session).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

func (s *sandbox) mustLive() {
	s.t.Helper()
	if _, err := s.guest.Stats(s.t.Context()); err != nil {
		s.t.Fatal("the sandbox is gone: ", err)
	}
}

// empty waits until the init is alone, zombies gone too.
func (s *sandbox) empty() bool {
	s.t.Helper()
	waitFor(s.t, "the sandbox to be empty", func() bool { return s.leftOf() == 0 })
	return true
}

// leftOf counts the processes of the sandbox beyond the init.
func (s *sandbox) leftOf() int {
	s.t.Helper()
	stats, err := s.guest.Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return int(stats.Processes) - 1
}

func TestSandboxSession(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	if stats, err := s.guest.Stats(t.Context()); err != nil || !stats.ProcessLimit || stats.Processes != 1 {
		t.Errorf("Stats = %+v, %v", stats, err)
	}
	id := domain.NewSessionID()
	if out, code := s.output(control.Session{ID: id, Dir: "/tmp", Command: []string{"sh", "-c", "pwd; cat /proc/self/cgroup; exit 42"}}); code != 42 ||
		out != "/tmp\n0::/lazaret-"+string(id)+"\n" {
		t.Errorf("status %d: %s", code, out)
	}
	if out, code := s.output(control.Session{ID: id, UID: 1000, GID: 1001, Command: []string{"sh", "-c", "id -u; id -g; grep CapEff /proc/self/status"}}); code != 0 ||
		out != "1000\n1001\nCapEff:\t0000000000000000\n" {
		t.Errorf("as another user, status %d: %s", code, out)
	}
	if out, code := s.output(control.Session{ID: id, OpenFiles: 123, Command: []string{"sh", "-c", "ulimit -n"}}); code != 0 || out != "123\n" {
		t.Errorf("open files, status %d: %s", code, out)
	}
	for command, want := range map[string]int{"absent": 127, "/usr/share": 126, "true": 0} {
		if out, code := s.output(control.Session{ID: id, Command: []string{command}}); code != want {
			t.Errorf("%s: status %d: %s", command, code, out)
		}
	}
	if out, code := s.output(control.Session{ID: id, Command: []string{"sh", "-c", daemons + "exit 3"}}); code != 3 || !s.empty() {
		t.Errorf("daemons: status %d: %s", code, out)
	}
	if out, code := s.output(control.Session{ID: id, Command: []string{"sh", "-c", "kill -TERM 1; kill -INT 1; kill -HUP 1"}}); code != 0 {
		t.Errorf("signals for PID 1, status %d: %s", code, out)
	}
	s.mustLive()
	if left, err := s.guest.Stats(t.Context()); err != nil || len(left.Sessions) != 0 {
		t.Errorf("cgroups left behind: %+v, %v", left, err)
	}
}

// A fork bomb meets the limit, is ended whole, and its neighbour notices nothing.
func TestSandboxForkBomb(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	neighbour := s.script(domain.NewSessionID(), "read line; echo $line")
	in, err := neighbour.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var heard bytes.Buffer
	neighbour.Stdout = &heard
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	id := domain.NewSessionID()
	bomb := s.script(id, "f() { while :; do f & sleep 0.5; done; }; echo up; f 2>/dev/null")
	waitUp(t, bomb)
	waitFor(t, "the bomb to meet the limit", func() bool { return s.leftOf() > taskLimit*3/4 })
	if b, err := s.guest.ReadFile(t.Context(), "/sys/fs/cgroup/lazaret-"+string(id)+"/pids.current", 64); err != nil {
		t.Error(err)
	} else if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err != nil || n > taskLimit {
		t.Errorf("%q tasks under a limit of %d", b, taskLimit)
	}
	begun := time.Now()
	n, err := s.guest.EndSession(t.Context(), id)
	t.Logf("ended %d in %v", n, time.Since(begun))
	if n < taskLimit/2 || err != nil {
		t.Errorf("EndSession = %d, %v", n, err)
	}
	if err := bomb.Wait(); err == nil {
		t.Error("the bomb ended well")
	}
	waitFor(t, "only the neighbour to be left", func() bool { return s.leftOf() == 2 })
	if _, err := io.WriteString(in, "alive\n"); err != nil {
		t.Fatal(err)
	}
	if err := neighbour.Wait(); err != nil || heard.String() != "alive\n" {
		t.Errorf("neighbour: %v, %q", err, heard.String())
	}
	s.mustLive()
}

// Killing the wrapper does not set the session free: its cgroup still names it.
func TestSandboxSessionWithoutItsWrapper(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	id := domain.NewSessionID()
	cmd := s.script(id, "trap '' HUP; echo up; (setsid sleep 1000 &) ; kill -9 $PPID; sleep 1001")
	waitUp(t, cmd)
	_ = cmd.Wait()
	waitFor(t, "the orphans", func() bool { return s.leftOf() >= 2 })
	if n, err := s.guest.EndSession(t.Context(), id); n < 2 || err != nil {
		t.Errorf("EndSession = %d, %v", n, err)
	}
	s.empty()
}

func TestSandboxTerminal(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	id := domain.NewSessionID()
	term := s.terminal(control.Session{ID: id, Command: []string{"bash", "--norc", "--noediting", "-i"}})
	term.expect("ready ")
	term.send("sh -c 'echo st\"\"arted; exec sleep 1000'\n")
	term.expect("started")
	if err := s.guest.SignalSession(t.Context(), id, unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	term.send("echo j\"\"ob=$?\n")
	term.expect("job=130")
	term.send("sleep 1000 &\n")
	term.send("exit 6\n")
	term.expect("exit")
	if err := term.cmd.Wait(); term.cmd.ProcessState.ExitCode() != 6 {
		t.Errorf("bash: %v: %s", err, term.text())
	}
	s.empty()

	// A command that shares the wrapper's process group is killed without it.
	id = domain.NewSessionID()
	term = s.terminal(control.Session{ID: id, Command: []string{"sh", "-c", "echo u''p; sleep 1000"}})
	term.expect("up")
	if err := s.guest.SignalSession(t.Context(), id, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := term.cmd.Wait(); term.cmd.ProcessState.ExitCode() != 137 {
		t.Errorf("killed in the foreground: %v", err)
	}
	s.mustLive()

	// Closing the terminal ends a session that does not defend itself, by the signal
	// or by the end of its input, whichever the shell sees first.
	term = s.terminal(control.Session{ID: domain.NewSessionID(), Command: []string{"bash", "--norc", "--noediting", "-i"}})
	term.expect("ready ")
	term.master.Close()
	if err := term.cmd.Wait(); term.cmd.ProcessState.ExitCode() != 129 && err != nil {
		t.Errorf("hung up: %v", err)
	}
	s.empty()
}

// terminal is a session on a pseudo-terminal and what it has shown.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
}

func (s *sandbox) terminal(session control.Session) *terminal {
	s.t.Helper()
	cmd := s.exec(session)
	blocking, err := pty.StartWithAttrs(cmd, nil, &syscall.SysProcAttr{Setsid: true, Setctty: true})
	if err != nil {
		s.t.Fatal(err)
	}
	// Closing a blocking master waits for the pending read, and hangs nobody up.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.SetNonblock(fd, true), blocking.Close())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "master")
	term := &terminal{t: s.t, cmd: cmd, master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			term.mu.Lock()
			term.shown.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	s.t.Cleanup(func() { master.Close() })
	return term
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

func (x *terminal) send(s string) {
	x.t.Helper()
	if _, err := io.WriteString(x.master, s); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) expect(s string) {
	x.t.Helper()
	waitFor(x.t, "the terminal to show "+strconv.Quote(s), func() bool { return strings.Contains(x.text(), s) })
}

// waitFor polls a condition of the real sandbox, which announces nothing.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatal("waited too long for ", what)
		case <-tick.C:
		}
	}
}
