package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/fault"
)

// Ending is what became of a work tree when a session in it ended.
type Ending uint8

// The endings.
const (
	InUse   Ending = 1 // others have sessions in it
	Removed Ending = 2 // nothing was left in it
	Kept    Ending = 3 // something was, or it could not be told
)

// Outcome is how a lease ended.
type Outcome struct {
	Ending Ending
	Report Report // for InUse only names and paths
	Err    error  // why a kept one could not be looked at or removed
}

// domainWait bounds how long the last one out waits for the sandbox to be gone.
const domainWait = 40 * time.Second

// Settle ends a lease. The last one waits until the Domain has ended, and removes the
// work tree and its branch if nothing is left in them.
func (l *Lease) Settle(ctx context.Context) Outcome {
	k := l.keeper
	out := Outcome{Ending: Kept, Report: Report{Name: l.Name, Profile: l.Profile, Branch: l.Branch, Path: l.Path}}
	alone, err := l.last(ctx)
	switch {
	case err != nil:
		out.Err = err
		return out
	case alone == nil:
		out.Ending = InUse
		return out
	}
	defer unlock(alone)
	domain, err := k.awaitDomain(ctx, l.Profile, l.Name)
	if err != nil {
		out.Err = err
		return out
	}
	defer domain.Close()
	err = k.holding(ctx, func() (err error) {
		out, err = k.close(ctx, l.Name)
		return err
	})
	out.Err = err
	return out
}

// last gives the lease up and takes the work tree's lock alone; nil when others are in it.
func (l *Lease) last(ctx context.Context) (alone *os.File, err error) {
	err = l.keeper.holding(ctx, func() error {
		unlock(l.lock)
		l.lock = nil
		var err error
		alone, _, err = l.keeper.try(l.Name, unix.LOCK_EX)
		return err
	})
	unlock(l.lock) // when the lock of all could not be had
	return alone, err
}

// awaitDomain waits until no sandbox runs in a work tree and returns the Domain lock; nil,
// which can be closed, when there never was a Domain.
func (k Keeper) awaitDomain(ctx context.Context, profile, name string) (*os.File, error) {
	dir := k.domainRoot(profile, name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	wait, cancel := context.WithTimeout(ctx, domainWait)
	defer cancel()
	lock, err := root.Lock(wait, root.LockPath(dir))
	if err != nil {
		return nil, &fault.Error{Kind: fault.Workspace, Message: "the sandbox in worktree " + name + " does not end", Err: err,
			Fix: "see " + filepath.Join(dir, "log", "coordinator.log")}
	}
	return lock, nil
}

// close removes the work tree called name, or keeps it. The caller holds all three locks.
func (k Keeper) close(ctx context.Context, name string) (Outcome, error) {
	r, err := k.read(name)
	if err != nil {
		return Outcome{Ending: Kept}, err
	}
	report, err := k.inspect(ctx, r)
	out := Outcome{Ending: Kept, Report: report}
	if err == nil && report.Missing == nil && report.Empty() {
		stays, err := k.erase(ctx, r)
		if err == nil && !stays {
			out.Ending = Removed
			return out, nil
		}
		if err == nil {
			err = fmt.Errorf("its folder is removed, but branch %s is in use elsewhere or was changed: look at it", report.Branch)
		}
		return out, err
	}
	return out, errors.Join(err, k.keep(ctx, r))
}

// keep leaves a work tree to the developer, whose git may now move it.
func (k Keeper) keep(ctx context.Context, r record) error {
	r.Kept = true
	if err := k.write(r); err != nil {
		return err
	}
	tree, err := k.whole(r)
	if err != nil {
		return nil // it was moved away: the report says so
	}
	return unpin(ctx, tree)
}

// tidy brings to an end what clients that were killed have left: half made work trees go,
// and so do those with nothing in them; the others are kept and named. The caller holds
// the lock of all.
func (k Keeper) tidy(ctx context.Context, progress func(string)) error {
	names, err := k.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := k.tidyOne(ctx, name, progress); err != nil {
			progress(fmt.Sprintf("notice: worktree %s of an earlier session could not be cleared up: %v", name, err))
		}
	}
	return nil
}

func (k Keeper) tidyOne(ctx context.Context, name string, progress func(string)) error {
	r, err := k.read(name)
	if err != nil || r.Kept && r.Stage == ready {
		return err
	}
	alone, ok, err := k.try(name, unix.LOCK_EX)
	if err != nil || !ok {
		return err
	}
	defer unlock(alone)
	if dir := k.domainRoot(r.Profile, name); r.Stage == ready && exists(dir) {
		domain, ok, err := root.TryLock(root.LockPath(dir))
		if err != nil || !ok {
			return err
		}
		defer domain.Close()
	}
	if r.Stage != ready {
		_, err := k.erase(ctx, r)
		return err
	}
	out, err := k.close(ctx, name)
	if err == nil && out.Ending == Kept {
		progress("notice: worktree " + name + " of a session that was cut off is kept; see lazaret state worktrees")
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Remove removes a work tree with all that is in it, and its branch. Errors are of kind
// Usage when there is none of that name, of kind Workspace when it is in use.
func (k Keeper) Remove(ctx context.Context, name string) (branchStays bool, err error) {
	r, err := k.known(name)
	if err != nil {
		return false, err
	}
	inUse := &fault.Error{Kind: fault.Workspace, Message: "worktree " + name + " is in use", Fix: "end its sessions first; lazaret status shows them"}
	var alone *os.File
	if err := k.holding(ctx, func() (err error) {
		alone, _, err = k.try(name, unix.LOCK_EX)
		return err
	}); err != nil {
		return false, err
	}
	if alone == nil {
		return false, inUse
	}
	defer unlock(alone)
	domain, err := k.awaitDomain(ctx, r.Profile, name)
	if err != nil {
		return false, err
	}
	defer domain.Close()
	err = k.holding(ctx, func() error {
		if r, err = k.known(name); err != nil {
			return err
		}
		r.Drop = true
		branchStays, err = k.erase(ctx, r)
		return err
	})
	return branchStays, err
}
