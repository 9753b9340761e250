package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit is how a child ended: by itself with Code, or by Signal.
type Exit struct {
	Code   int
	Signal unix.Signal // 0 when the child exited by itself
}

// Status returns the status as a shell reports it: the code, or 128+n for signal n.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

// String says it for a person: "exit status 3" or "signal 9 (killed)".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d (%v)", int(e.Signal), e.Signal)
	}
	return "exit status " + strconv.Itoa(e.Code)
}

// Process is one child. Its methods may overlap. It is reaped as soon as it ends,
// whether or not anyone waits for it.
type Process struct {
	pid   int
	pidfd *os.File // non-blocking, so that the runtime's poller waits for its end
	done  chan struct{}
	exit  Exit // written before done is closed
}

// owned holds the children of this package by pid. Its lock is held over every
// fork and every reap of a stranger, so that ReapStrangers can never take the
// status of a child whose number it has not seen yet.
var owned = struct {
	mu   sync.Mutex
	byID map[int]*Process
}{byID: map[int]*Process{}}

// Start starts a child and returns once it has executed Path.
func Start(spec Spec) (*Process, error) {
	fds, release, err := spec.descriptors()
	if err != nil {
		return nil, err
	}
	defer release()
	var p *Process
	onBroker(func() { p, err = start(spec, fds) })
	goruntime.KeepAlive(spec.Files)
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", spec.Path, err)
	}
	go p.reap()
	return p, nil
}

func start(spec Spec, fds []uintptr) (*Process, error) {
	owned.mu.Lock()
	defer owned.mu.Unlock()
	pidfd := -1
	env := spec.Env
	if env == nil {
		env = []string{} // nil would mean "inherit" to package syscall
	}
	pid, _, err := syscall.StartProcess(spec.Path, spec.args(), &syscall.ProcAttr{
		Dir: spec.Dir, Env: env, Files: fds, Sys: spec.sys(&pidfd),
	})
	if err != nil {
		return nil, err
	}
	if pidfd < 0 { // a kernel older than CLONE_PIDFD; the pid is still ours, so this is no race
		if pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
			return nil, errors.Join(fmt.Errorf("open pidfd of %d: %w", pid, err), killAndReap(pid))
		}
	}
	if err := unix.SetNonblock(pidfd, true); err != nil {
		unix.Close(pidfd)
		return nil, errors.Join(fmt.Errorf("make pidfd of %d pollable: %w", pid, err), killAndReap(pid))
	}
	p := &Process{
		pid:   pid,
		pidfd: os.NewFile(uintptr(pidfd), "pidfd:"+strconv.Itoa(pid)),
		done:  make(chan struct{}),
	}
	owned.byID[pid] = p
	return p, nil
}

func killAndReap(pid int) error {
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		return err
	}
	_, err := wait4(pid)
	return err
}

// reap waits for the end of p, owns its status and its number until then, and
// ends with it.
func (p *Process) reap() {
	// Should the poller refuse pidfds, wait4 below blocks a thread instead.
	_ = AwaitEnd(p.pidfd)
	status, werr := wait4(p.pid)
	switch {
	case werr != nil:
		// Not ours any more: someone outside this package reaped it.
		p.exit = Exit{Code: 255}
	case status.Signaled():
		p.exit = Exit{Signal: unix.Signal(status.Signal())}
	default:
		p.exit = Exit{Code: status.ExitStatus()}
	}
	owned.mu.Lock()
	delete(owned.byID, p.pid)
	owned.mu.Unlock()
	close(p.done)
}

// AwaitEnd waits until the process behind a non-blocking pidfd, anyone's, has
// ended, without holding a thread. Closing pidfd ends the wait with an error.
func AwaitEnd(pidfd *os.File) error {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("await the end of a process: %w", err)
	}
	// A pidfd is readable once its process has ended. The callback's first call asks
	// without waiting; the poller wakes it for the next.
	err = conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n == 1
	})
	if err != nil {
		return fmt.Errorf("await the end of a process: %w", err)
	}
	return nil
}

func wait4(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status, err
		}
	}
}

// PID returns the child's process id, for display and for programs that take
// nothing better. After Done it may name another process.
func (p *Process) PID() int { return p.pid }

// Pidfd returns the descriptor that names the child for ever. It belongs to p.
func (p *Process) Pidfd() *os.File { return p.pidfd }

// Release closes Pidfd, which otherwise waits for the garbage collector: a process that
// idles may not collect for long. It is called after Done, when nobody signals any more.
func (p *Process) Release() { p.pidfd.Close() }

// Done is closed when the child has ended and been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the child ended. It is valid once Done is closed.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1}
	}
}

// Wait waits for the child's end or for ctx, whichever comes first.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{Code: -1}, fmt.Errorf("wait for process %d: %w", p.pid, ctx.Err())
	}
}

// Signal sends sig to exactly this child. It returns os.ErrProcessDone when the
// child has ended.
func (p *Process) Signal(sig unix.Signal) error {
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
	}
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("signal process %d: %w", p.pid, err)
	}
	var sent error
	if err := conn.Control(func(fd uintptr) {
		sent = unix.PidfdSendSignal(int(fd), sig, nil, 0)
	}); err != nil {
		return fmt.Errorf("signal process %d: %w", p.pid, err)
	}
	if errors.Is(sent, unix.ESRCH) {
		return os.ErrProcessDone
	}
	if sent != nil {
		return fmt.Errorf("send signal %d to process %d: %w", int(sig), p.pid, sent)
	}
	return nil
}
