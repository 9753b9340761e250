package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/root"
)

// lockWait bounds the wait for another lazaret that chooses or removes a work tree.
const lockWait = 40 * time.Second

// lock takes the lock of all the workspace's work trees.
func (k Keeper) lock(ctx context.Context) (*os.File, error) {
	if err := k.private(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return root.Lock(ctx, k.Dir()+"/lock")
}

// holding runs do with that lock.
func (k Keeper) holding(ctx context.Context, do func() error) error {
	lock, err := k.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	return do()
}

// try takes the lock of one work tree without waiting: unix.LOCK_SH for a session in it,
// unix.LOCK_EX to close it. The caller holds the lock of all, so that the file is not
// removed meanwhile.
func (k Keeper) try(name string, how int) (lock *os.File, ok bool, err error) {
	f, err := os.OpenFile(k.lockPath(name), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("open lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		return f, true, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock %q: %w", k.lockPath(name), err)
}

// unlock gives a lock of try back; nil is none. It says so to the kernel: a process that is
// being started at this moment has a copy of the descriptor, and with it the lock, until it
// executes its program.
func unlock(lock *os.File) {
	if lock != nil {
		_ = unix.Flock(int(lock.Fd()), unix.LOCK_UN) // closing does it at the latest
		lock.Close()
	}
}
