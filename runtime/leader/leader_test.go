package leader_test

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/leader"
)

// The test binary plays the leader.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, leader.Mode) {
		os.Exit(leader.Main())
	}
	os.Exit(m.Run())
}

// session is a leader on a terminal of its own.
type session struct {
	t      *testing.T
	master *os.File
	link   *os.File
	cmd    *exec.Cmd
}

func start(t *testing.T) *session {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that reads have deadlines
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "leader's")
	s := &session{t, master, os.NewFile(uintptr(fds[0]), "link"), exec.Command("/proc/self/exe", leader.Mode)}
	s.cmd.Stdin, s.cmd.Stderr, s.cmd.ExtraFiles = slave, os.Stderr, []*os.File{theirs}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	theirs.Close()
	t.Cleanup(func() {
		s.link.Close()
		master.Close()
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the leader ended with %v", err)
		}
	})
	s.expect(leader.Ready)
	return s
}

func (s *session) expect(want ...byte) {
	s.t.Helper()
	for _, w := range want {
		got := []byte{255}
		_ = s.link.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := s.link.Read(got); err != nil || got[0] != w {
			s.t.Fatalf("got %d, %v, want %d", got[0], err, w)
		}
	}
}

func (s *session) types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func TestEveryTerminalSignalIsToldInOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 3 {
		s.types("\x03")
		s.expect(byte(unix.SIGINT))
		s.types("\x1a")
		s.expect(byte(unix.SIGTSTP))
		s.types("\x1c")
		s.expect(byte(unix.SIGQUIT))
	}
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: 50, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	s.expect(byte(unix.SIGWINCH))
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT, unix.SIGHUP} {
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		s.expect(byte(sig))
	}
}

// A hangup is what closing the other side of a terminal is (tty_ioctl(4)).
func TestHangup(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.master.Close()
	s.expect(byte(unix.SIGHUP))
}

func TestTheLeaderEndsWithItsStarter(t *testing.T) {
	t.Parallel()
	start(t) // the cleanup closes the socket and waits
}
