package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// resolveBuiltin returns the built-in image, building it when there is none yet
// or a newer one is asked for.
func resolveBuiltin(ctx context.Context, o Options) (*resolved, error) {
	lock, err := lockBuilds(ctx, o)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	dir := builtDir(o.StorageRoot)
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

// Rebuild builds the image that the source builtin stands for anew and returns
// its layout and digest. What is prepared of an older one stays as it is.
func Rebuild(ctx context.Context, o Options) (dir, digest string, err error) {
	o = o.withDefaults()
	if err := makeStore(o.StorageRoot); err != nil {
		return "", "", err
	}
	lock, err := lockBuilds(ctx, o)
	if err != nil {
		return "", "", err
	}
	defer lock.Close()
	dir = builtDir(o.StorageRoot)
	if err := rebuild(ctx, o, dir); err != nil {
		return "", "", err
	}
	img, err := openLayout(dir, builtTag, o.Limits)
	if err != nil {
		return "", "", err
	}
	return dir, img.manifest, nil
}

func builtDir(root string) string { return filepath.Join(buildsDir(root), hostBase().suite) }

// lockBuilds lets one process build at a time.
func lockBuilds(ctx context.Context, o Options) (*os.File, error) {
	return lockFile(ctx, filepath.Join(locksDir(o.StorageRoot), "build"), func() { o.Progress(StageWait, 0, 0) })
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
