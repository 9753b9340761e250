package fake

import (
	"context"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
)

// Program is a command of a fake sandbox; what it returns is its status.
type Program func(p *Process) int

// signalQueue bounds the signals a program has not looked at.
const signalQueue = 16

// Process is one running program.
type Process struct {
	Spec                  runtime.ExecSpec
	Stdin, Stdout, Stderr *os.File // all the terminal when there is one
	// Signals delivers what Signal sent. A program that does not receive from it
	// ignores signals; nothing has a default action here.
	Signals chan unix.Signal
	// Killed is closed by End and by the end of the sandbox; the program's files
	// are closed then, so that it cannot hang in them.
	Killed chan struct{}

	hears    func() error // of the sandbox
	mu       sync.Mutex
	received []unix.Signal
	ends     int
	exit     runtime.ExitStatus
	finished bool
	done     chan struct{}
}

func start(spec runtime.ExecSpec, program Program, hears func() error) (*Process, error) {
	p := &Process{
		Spec: spec, Signals: make(chan unix.Signal, signalQueue),
		Killed: make(chan struct{}), done: make(chan struct{}), hears: hears,
	}
	if spec.TTY != nil {
		tty, err := duplicate(spec.TTY)
		if err != nil {
			return nil, err
		}
		p.Stdin, p.Stdout, p.Stderr = tty, tty, tty
	} else if err := p.duplicatePipes(); err != nil {
		return nil, err
	}
	go func() { p.finish(runtime.ExitStatus{Code: program(p)}) }()
	return p, nil
}

func (p *Process) duplicatePipes() (err error) {
	for _, f := range []struct {
		from *os.File
		to   **os.File
	}{{p.Spec.Stdin, &p.Stdin}, {p.Spec.Stdout, &p.Stdout}, {p.Spec.Stderr, &p.Stderr}} {
		if *f.to, err = duplicate(f.from); err != nil {
			return err
		}
	}
	return nil
}

// duplicate copies f in non-blocking mode, so that closing it ends a pending read.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dupErr error
	err = conn.Control(func(old uintptr) {
		if fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0); dupErr == nil {
			dupErr = unix.SetNonblock(fd, true)
		}
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return nil, fmt.Errorf("duplicate %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// finish records the status, once, and takes everything from the program.
func (p *Process) finish(exit runtime.ExitStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	p.finished, p.exit = true, exit
	p.Stdin.Close()
	p.Stdout.Close()
	p.Stderr.Close()
	close(p.Killed)
	close(p.done)
}

// Done implements runtime.Process.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit implements runtime.Process.
func (p *Process) Exit() runtime.ExitStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Signal implements runtime.Process.
func (p *Process) Signal(_ context.Context, sig unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return os.ErrProcessDone
	}
	p.received = append(p.received, sig)
	select {
	case p.Signals <- sig:
	default: // a program that looks at none of them
	}
	return nil
}

// Received returns the signals sent so far.
func (p *Process) Received() []unix.Signal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]unix.Signal(nil), p.received...)
}

// End implements runtime.Process.
func (p *Process) End(context.Context) (int, error) {
	if err := p.hears(); err != nil {
		return 0, err
	}
	p.mu.Lock()
	p.ends++
	killed := 1
	if p.finished {
		killed = 0
	}
	p.mu.Unlock()
	p.finish(runtime.ExitStatus{Code: 128 + int(unix.SIGKILL)})
	return killed, nil
}

// Ends counts the calls of End.
func (p *Process) Ends() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}
