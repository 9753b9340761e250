package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// resolveBuiltin returns the built-in image, building it when there is none yet
// or a newer one is asked for. One process builds at a time.
func resolveBuiltin(ctx context.Context, o Options) (*resolved, error) {
	lock, err := lockFile(ctx, filepath.Join(locksDir(o.StorageRoot), "build"), func() { o.Progress(StageWait, 0, 0) })
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	dir := filepath.Join(buildsDir(o.StorageRoot), hostBase().suite)
	if !o.Refresh {
		if img, err := openLayout(dir, builtTag, o.Limits); err == nil {
			return img, nil
		}
	}
	if err := rebuild(ctx, o, dir); err != nil {
		return nil, err
	}
	return openLayout(dir, builtTag, o.Limits)
}

// rebuild replaces the layout dir by a new build. The lock held by the caller
// makes every unfinished build beside it a dead one.
func rebuild(ctx context.Context, o Options, dir string) error {
	stale, _ := filepath.Glob(filepath.Join(buildsDir(o.StorageRoot), ".build-*")) // the pattern is well-formed
	for _, path := range stale {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove unfinished build: %w", err)
		}
	}
	fresh, err := os.MkdirTemp(buildsDir(o.StorageRoot), ".build-")
	if err != nil {
		return fmt.Errorf("make build directory: %w", err)
	}
	defer os.RemoveAll(fresh)
	if _, err := Build(ctx, BuildOptions{Output: fresh, IDs: o.IDs, Progress: o.Progress}); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("replace build %q: %w", dir, err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return fmt.Errorf("replace build %q: %w", dir, err)
	}
	return syncDir(buildsDir(o.StorageRoot))
}
