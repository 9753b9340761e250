package supervisor

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	wire "lazaret.dev/lazaret/runtime/leader"
)

// leader is the host process whose controlling terminal a session's is.
type leader struct {
	process *proc.Process
	signals *os.File // a byte per signal; closing it ends the leader
	cancel  context.CancelFunc
	ctx     context.Context // of what is done about the signals
}

// startLeader starts the leader of a session on tty and returns once it catches every
// signal. Even with an error there may be something to end.
func startLeader(tty *os.File) (*leader, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make the leader's socket: %w", err)
	}
	l := &leader{signals: os.NewFile(uintptr(fds[0]), "leader")}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	theirs := os.NewFile(uintptr(fds[1]), "starter")
	l.process, err = proc.Start(proc.Spec{
		Path: filepath.Join(roomBin, guestBinaryName), Args: []string{guestBinaryName, wire.Mode}, Dir: "/",
		Files:  []*os.File{tty, nil, os.Stderr, wire.Descriptor: theirs},
		Setsid: true, Setctty: true,
	})
	theirs.Close()
	if err != nil {
		return l, err
	}
	var ready [1]byte
	if _, err := io.ReadFull(l.signals, ready[:]); err != nil {
		return l, fmt.Errorf("start the terminal's leader: %w", err)
	}
	return l, nil
}

// forward has deliver called for each signal, one after the other, until end. It is
// called once, when the command has been started.
func (l *leader) forward(deliver func(context.Context, unix.Signal)) {
	for _, sig := range l.early() {
		// The sentry would stop the session's wrapper for ever, which only a moment
		// later catches a stop and leaves it to the command.
		if sig != unix.SIGTSTP && sig != unix.SIGTTIN && sig != unix.SIGTTOU {
			deliver(l.ctx, sig)
		}
	}
	var buffer [64]byte
	for {
		n, err := l.signals.Read(buffer[:])
		for _, b := range buffer[:n] {
			deliver(l.ctx, unix.Signal(b))
		}
		if err != nil {
			return
		}
	}
}

// early takes the signals that have come already, without waiting.
func (l *leader) early() (list []unix.Signal) {
	conn, err := l.signals.SyscallConn()
	if err != nil {
		return nil // closed
	}
	var buffer [64]byte
	n := 0
	_ = conn.Read(func(fd uintptr) bool {
		n, _ = unix.Read(int(fd), buffer[:])
		return true
	})
	for _, b := range buffer[:max(n, 0)] {
		list = append(list, unix.Signal(b))
	}
	return list
}

// end ends the leader and returns once it is gone. Of a nil leader it does nothing.
func (l *leader) end() {
	if l == nil {
		return
	}
	l.cancel()
	l.signals.Close()
	if l.process != nil {
		_ = l.process.Signal(unix.SIGKILL) // it may be stopped
		<-l.process.Done()
		l.process.Release()
	}
}
