package root

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock at path if nobody holds it; ok is false when somebody
// does.
func TryLock(path string) (lock *os.File, ok bool, err error) {
	f, err := openLock(path)
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, true, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock %q: %w", path, err)
}

// Lock takes the lock at path, waiting for its holder as long as ctx allows. The
// kernel does the waiting; when ctx ends first, the wait goes on in the background
// and its fruit is dropped.
func Lock(ctx context.Context, path string) (*os.File, error) {
	if f, ok, err := TryLock(path); err != nil || ok {
		return f, err
	}
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	taken := make(chan error, 1)
	go func() { taken <- flock(f) }()
	select {
	case err := <-taken:
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %q: %w", path, err)
		}
		return f, nil
	case <-ctx.Done():
		go func() {
			<-taken //nolint:errcheck // the lock came late or not at all: it is given back
			f.Close()
		}()
		return nil, fmt.Errorf("wait for %q: %w", path, ctx.Err())
	}
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return f, nil
}
