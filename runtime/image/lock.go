package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const lockRetry = 100 * time.Millisecond

// flock applies one flock(2) operation to f.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lockFile takes the exclusive lock of the file path, which it makes, waiting as
// long as ctx allows; waited is called once if it has to. The kernel drops the
// lock with the process. The wait asks again ten times a second: flock(2) itself
// cannot be interrupted, and the holder works for seconds to minutes.
func lockFile(ctx context.Context, path string, waited func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	for first := true; ; first = false {
		err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %q: %w", path, err)
		}
		if first {
			waited()
		}
		timer := time.NewTimer(lockRetry)
		select {
		case <-ctx.Done():
			timer.Stop()
			f.Close()
			return nil, fmt.Errorf("wait for lock %q: %w", path, ctx.Err())
		case <-timer.C:
		}
	}
}
