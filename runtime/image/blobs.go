package image

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

const (
	downloadTick = 1 << 20 // bytes between two reports
	fetchPrefix  = ".fetch-"
)

// blobCache keeps fetched layers by digest, so that only an unfinished one is
// fetched again. A blob has its name only once all of it had that digest.
type blobCache struct {
	dir  string
	gate string // lock held while temporary files are made or swept
}

func newBlobCache(root string) blobCache {
	return blobCache{dir: blobsDir(root), gate: stageGatePath(root)}
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
	f, err := c.begin(ctx)
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

// begin makes a temporary file and locks it, so that sweepBlobs can tell it from
// one whose maker is gone.
func (c blobCache) begin(ctx context.Context) (*os.File, error) {
	gate, err := lockFile(ctx, c.gate, func() {})
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	f, err := os.CreateTemp(c.dir, fetchPrefix+"*")
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepBlobs removes what killed processes were fetching. The caller holds the
// gate.
func sweepBlobs(root string) {
	unfinished, _ := filepath.Glob(filepath.Join(blobsDir(root), fetchPrefix+"*")) // the pattern is well-formed
	for _, path := range unfinished {
		f, err := openRegular(path)
		if err != nil {
			continue
		}
		if flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.Remove(path)
		}
		f.Close()
	}
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
	cache := newBlobCache(o.StorageRoot)
	for _, l := range img.layers {
		if h, err := v1.NewHash(l.digest); err == nil {
			os.Remove(cache.path(h))
		}
	}
}
