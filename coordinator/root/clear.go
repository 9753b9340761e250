package root

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/internal/domain"
)

// Clear removes what a coordinator that was killed left of its generation: its
// socket, the record of it, its generation directory. The caller holds the Domain
// lock, so nobody can be using any of it. It returns what it removed.
func Clear(root string) (removed []string, err error) {
	if e, readErr := ReadEndpoint(root); readErr == nil && filepath.Ext(e.Socket) == ".sock" {
		if os.Remove(e.Socket) == nil {
			removed = append(removed, e.Socket)
		}
		os.Remove(filepath.Dir(e.Socket)) // the Domain's own; fails while it holds anything
	}
	err = RemoveEndpoint(root)
	generations, globErr := filepath.Glob(filepath.Join(root, "gen", "*"))
	err = errors.Join(err, globErr)
	for _, dir := range generations {
		removed = append(removed, dir)
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return removed, err
}

// Sweep clears root when nobody serves the Domain, and does nothing when somebody
// does. Whoever finds a coordinator gone calls it.
func Sweep(root string) error {
	lock, ok, err := TryLock(LockPath(root))
	if err != nil || !ok {
		return err
	}
	defer lock.Close()
	_, err = Clear(root)
	return err
}

// sweepWait is how long a client waits for a coordinator, or another client, that
// is clearing up.
const sweepWait = 3 * time.Second

// AwaitSwept sweeps the Domain Root of profile in workspace once nobody serves it
// any more. A client that lost its session calls it before it ends.
func AwaitSwept(ctx context.Context, dataRoot, profile, workspace string) error {
	id, _ := domain.Identify(profile, workspace)
	root := plan.DomainRoot(dataRoot, id)
	ctx, cancel := context.WithTimeout(ctx, sweepWait)
	defer cancel()
	lock, err := Lock(ctx, LockPath(root))
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = Clear(root)
	return err
}
