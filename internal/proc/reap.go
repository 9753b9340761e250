package proc

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DieWithParent asks the kernel to kill this process when the thread that started
// it ends. The kernel drops a parent-death signal at an exec that gains
// capabilities, so a child that may have gone through one calls this first of all. It closes no gap by itself: a parent that died
// before the call is noticed only by a pipe held open by it.
func DieWithParent() error {
	var err error
	// The signal belongs to the thread that asked; the broker's never ends.
	onBroker(func() { err = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) })
	return err
}

// ReapStrangers reaps processes that were orphaned onto this one, which is PID 1
// of its namespace or a subreaper, until ctx ends. Children started by Start are
// left to their owners.
func ReapStrangers(ctx context.Context) {
	wake := make(chan os.Signal, 1) // one is enough: each wake drains all
	signal.Notify(wake, unix.SIGCHLD)
	defer signal.Stop(wake)
	for {
		drainStrangers(ctx)
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

func drainStrangers(ctx context.Context) {
	for ctx.Err() == nil {
		pid, ok := peekEnded()
		if !ok {
			return
		}
		owned.mu.Lock()
		p := owned.byID[pid]
		if p == nil {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		owned.mu.Unlock()
		if p == nil {
			continue
		}
		// The kernel names this one again until its owner has reaped it.
		select {
		case <-p.done:
		case <-ctx.Done():
			return
		}
	}
}

// peekEnded returns the pid of some ended child without reaping it.
func peekEnded() (int, bool) {
	// siginfo_t of waitid(2) on 64-bit Linux; x/sys leaves its union opaque.
	var info struct {
		Signo, Errno, Code int32
		_                  int32
		PID                int32
		_                  [108]byte
	}
	for {
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return int(info.PID), err == nil && info.PID != 0
		}
	}
}
