package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime"
)

const (
	stagePrefix  = ".staging-"
	idsName      = "ids" // the id map a staged tree is owned by
	maxIDs       = 1024
	discardAfter = 10 * time.Minute
)

// stage is a directory a tree is made in. Its flock says that its maker lives;
// without, sweep removes it.
type stage struct {
	o         Options
	path      string
	dir       *os.File // holds the lock
	rootfs    *os.File
	published bool
}

// newStage makes and locks a staging directory with an empty root directory that
// belongs to guest root.
func newStage(ctx context.Context, o Options) (_ *stage, err error) {
	gate, err := stageGate(ctx, o)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	path, err := os.MkdirTemp(lowersDir(o.StorageRoot), stagePrefix)
	if err != nil {
		return nil, fmt.Errorf("make staging directory: %w", err)
	}
	s := &stage{o: o, path: path}
	defer func() {
		if err != nil {
			s.discard(ctx)
		}
	}()
	if s.dir, err = os.Open(path); err != nil {
		return nil, fmt.Errorf("make staging directory: %w", err)
	}
	if err := flock(s.dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock staging directory: %w", err)
	}
	ids, err := canon.Marshal(o.IDs)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(path, idsName), ids, 0o600); err != nil {
		return nil, fmt.Errorf("make staging directory: %w", err)
	}
	return s, s.makeRoot()
}

func (s *stage) makeRoot() (err error) {
	root := filepath.Join(s.path, rootfsName)
	if err := os.Mkdir(root, 0o755); err != nil {
		return fmt.Errorf("make staging directory: %w", err)
	}
	if err := os.Chmod(root, 0o755); err != nil { // whatever the umask
		return fmt.Errorf("make staging directory: %w", err)
	}
	if s.o.IDs.Mode == runtime.ModeRoot {
		if err := os.Chown(root, int(s.o.IDs.UIDs.Host), int(s.o.IDs.GIDs.Host)); err != nil {
			return fmt.Errorf("make staging directory: %w", err)
		}
	}
	if s.rootfs, err = os.Open(root); err != nil {
		return fmt.Errorf("make staging directory: %w", err)
	}
	return nil
}

// stageGate serialises the making and the sweeping of staging directories, so
// that none is swept between its making and its locking.
func stageGate(ctx context.Context, o Options) (*os.File, error) {
	return lockFile(ctx, stageGatePath(o.StorageRoot), func() {})
}

func stageGatePath(root string) string { return filepath.Join(locksDir(root), "staging") }

// publish writes the record and gives the directory its name. The worker has
// synced the tree already.
func (s *stage) publish(r record) error {
	b, err := canon.Marshal(r)
	if err != nil {
		return err
	}
	if len(b) > maxRecord {
		return fmt.Errorf("write lower record: %d bytes exceed the limit of %d", len(b), maxRecord)
	}
	if err := os.Remove(filepath.Join(s.path, idsName)); err != nil {
		return fmt.Errorf("publish image: %w", err)
	}
	if err := writeFileSync(filepath.Join(s.path, recordName), b, 0o600); err != nil {
		return err
	}
	lowers := lowersDir(s.o.StorageRoot)
	err = unix.Renameat2(unix.AT_FDCWD, s.path, unix.AT_FDCWD, filepath.Join(lowers, r.Key), unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EEXIST) {
		return nil // the same content under another source came first; ours is discarded
	}
	if err != nil {
		return fmt.Errorf("publish image: %w", err)
	}
	s.published = true
	return syncDir(lowers)
}

// discard ends the staging: whatever was not published is removed, also when ctx
// is over.
func (s *stage) discard(ctx context.Context) {
	if !s.published {
		// What cannot be removed now stays unlocked and goes with the next sweep.
		_ = removeTree(ctx, s.o, s.path, s.o.IDs)
	}
	for _, f := range []*os.File{s.rootfs, s.dir} {
		if f != nil {
			f.Close()
		}
	}
}

// removeTree removes a staging directory. The tree in it belongs to mapped ids,
// so a worker empties it.
func removeTree(ctx context.Context, o Options, path string, ids runtime.IDs) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardAfter)
	defer cancel()
	root, err := os.OpenFile(filepath.Join(path, rootfsName), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		defer root.Close()
		o.IDs, o.Progress = ids, func(string, int64, int64) {}
		if _, err := runWorker(ctx, o, root, job{Action: jobEmpty, Switch: o.test}, nil, 0); err != nil {
			return fmt.Errorf("remove staging directory %q: %w", path, err)
		}
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove staging directory: %w", err)
	}
	return nil
}

// sweep removes staging directories and fetched parts whose makers are gone.
func sweep(ctx context.Context, o Options) error {
	gate, err := stageGate(ctx, o)
	if err != nil {
		return err
	}
	defer gate.Close()
	sweepBlobs(o.StorageRoot)
	entries, err := os.ReadDir(lowersDir(o.StorageRoot))
	if err != nil {
		return fmt.Errorf("sweep staging directories: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagePrefix) || !e.IsDir() {
			continue
		}
		// One that cannot be removed is no reason not to prepare another; it is
		// tried again next time.
		_ = sweepOne(ctx, o, filepath.Join(lowersDir(o.StorageRoot), e.Name()))
	}
	return nil
}

func sweepOne(ctx context.Context, o Options, path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sweep staging directory: %w", err)
	}
	defer dir.Close()
	if err := flock(dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil // its maker lives
	}
	ids := o.IDs
	if b, err := readBounded(filepath.Join(path, idsName), maxIDs); err == nil {
		var kept runtime.IDs
		if canon.Unmarshal(b, maxIDs, &kept) == nil {
			ids = kept
		}
	}
	return removeTree(ctx, o, path, ids)
}
