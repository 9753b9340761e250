package image

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const downloadTick = 1 << 20 // bytes between two reports

// blobCache keeps fetched layers by digest, so that only an unfinished one is
// fetched again. A blob has its name only once all of it had that digest.
type blobCache struct {
	dir string
}

func (c blobCache) path(h v1.Hash) string { return filepath.Join(c.dir, h.Hex) }

// fill fetches the blob desc names unless it is there.
func (c blobCache) fill(ctx context.Context, desc v1.Descriptor, layer func() (v1.Layer, error), tell func(int64)) error {
	if info, err := os.Lstat(c.path(desc.Digest)); err == nil && info.Mode().IsRegular() && info.Size() == desc.Size {
		return nil // unpacking hashes it once more
	}
	l, err := layer()
	if err != nil {
		return err
	}
	r, err := l.Compressed()
	if err != nil {
		return err
	}
	defer r.Close()
	return c.store(ctx, desc, r, tell)
}

// store reads a blob into the cache, at most the bytes its descriptor says.
func (c blobCache) store(ctx context.Context, desc v1.Descriptor, r io.Reader, tell func(int64)) error {
	f, err := os.CreateTemp(c.dir, ".fetch-*")
	if err != nil {
		return fmt.Errorf("cache layer: %w", err)
	}
	defer f.Close()
	defer os.Remove(f.Name()) // without effect once it has its name
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum, &ticker{ctx: ctx, tell: tell}), io.LimitReader(r, desc.Size+1))
	if err != nil {
		return fmt.Errorf("fetch layer %.19s: %w", desc.Digest, err)
	}
	if n != desc.Size {
		return fmt.Errorf("fetch layer %.19s: %d bytes came, not %d", desc.Digest, n, desc.Size)
	}
	if got := hashOf(sum); got != desc.Digest {
		return fmt.Errorf("fetch layer %.19s: what came has digest %s", desc.Digest, got)
	}
	return commitFile(f, c.path(desc.Digest), 0o600)
}

// ticker reports how much was written, and ends the copy with its context.
type ticker struct {
	ctx     context.Context
	tell    func(int64)
	n, last int64
}

func (t *ticker) Write(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	t.n += int64(len(p))
	if t.n-t.last >= downloadTick {
		t.last = t.n
		t.tell(t.n)
	}
	return len(p), nil
}

// forgetBlobs drops cached layers that turned out not to have their digest.
func forgetBlobs(o Options, src parsed, img *resolved) {
	if src.kind != kindRegistry {
		return
	}
	cache := blobCache{dir: blobsDir(o.StorageRoot)}
	for _, l := range img.layers {
		if h, err := v1.NewHash(l.digest); err == nil {
			os.Remove(cache.path(h))
		}
	}
}
