package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/root"
)

// checkLock makes sure that what was handed over is the Domain's own lock, held.
// flock(2) is a property of the open file, so taking it again costs nothing when
// it is ours and fails when it is anybody else's.
func (p *process) checkLock() error {
	var ours, named unix.Stat_t
	if err := unix.Fstat(int(p.Lock.Fd()), &ours); err != nil {
		return fmt.Errorf("look at Domain lock: %w", err)
	}
	path := root.LockPath(p.Plan.Root())
	if err := unix.Stat(path, &named); err != nil {
		return fmt.Errorf("look at %q: %w", path, err)
	}
	if ours.Dev != named.Dev || ours.Ino != named.Ino {
		return fmt.Errorf("the lock handed over is not %q", path)
	}
	if err := unix.Flock(int(p.Lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("take %q: %w", path, err)
	}
	return nil
}

// clearStale removes what a killed coordinator of this Domain left. Holding the
// Domain lock is what makes it safe: nobody can be using any of it.
func (p *process) clearStale() error {
	removed, err := root.Clear(p.Plan.Root())
	if len(removed) > 0 {
		p.log.Info("removed what an earlier coordinator left", "paths", removed)
	}
	if err != nil {
		p.log.Warn("remove what an earlier coordinator left", "err", err)
	}
	if err := os.MkdirAll(p.socketDir(), 0o700); err != nil {
		return fmt.Errorf("make socket directory: %w", err)
	}
	p.undo = append(p.undo, func() { os.Remove(p.socketDir()) })
	stale, err := filepath.Glob(filepath.Join(p.socketDir(), "*.sock"))
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	return nil
}

func (p *process) socketDir() string {
	return filepath.Join(p.Plan.RuntimeDir, string(p.Plan.Domain))
}

// publish opens the socket and then says where it is.
func (p *process) publish(cfg *Config) error {
	path := filepath.Join(p.socketDir(), string(p.gen.ID)+".sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("open socket %q: %w", path, err)
	}
	listener.SetUnlinkOnClose(true)
	var once sync.Once
	cfg.Listener = listener
	cfg.Unpublish = func() {
		once.Do(func() {
			_ = root.RemoveEndpoint(p.Plan.Root())
			_ = listener.Close()
			os.Remove(p.socketDir())
		})
	}
	p.undo = append(p.undo, cfg.Unpublish)
	return root.WriteEndpoint(p.Plan.Root(), root.Endpoint{Generation: p.gen.ID, Socket: path})
}
