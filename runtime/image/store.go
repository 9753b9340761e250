package image

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime"
)

const maxIndexRecord = 16 << 10

func lowersDir(root string) string { return filepath.Join(root, "lowers") }
func indexDir(root string) string  { return filepath.Join(root, "lowers", ".index") }
func locksDir(root string) string  { return filepath.Join(root, "lowers", ".locks") }
func blobsDir(root string) string  { return filepath.Join(root, "blobs", "sha256") }
func buildsDir(root string) string { return filepath.Join(root, "builds") }

var keyPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// makeStore makes the directories of the image store, private to their owner.
func makeStore(root string) error {
	for _, dir := range []string{indexDir(root), locksDir(root), blobsDir(root), buildsDir(root)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make image store: %w", err)
		}
	}
	return nil
}

// pin is one entry of the index: which lower a source was resolved to.
type pin struct {
	Source string      `cbor:"1,keyasint"`
	IDs    runtime.IDs `cbor:"2,keyasint"`
	Key    string      `cbor:"3,keyasint"`
	Policy uint32      `cbor:"4,keyasint"`
}

// pinName is the name of a source's entry for one id map.
func pinName(src parsed, ids runtime.IDs) (string, error) {
	b, err := canon.Marshal(pin{Source: src.text, IDs: ids})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}

func writePin(root string, src parsed, ids runtime.IDs, key string) error {
	name, err := pinName(src, ids)
	if err != nil {
		return err
	}
	b, err := canon.Marshal(pin{Source: src.text, IDs: ids, Key: key, Policy: policy()})
	if err != nil {
		return err
	}
	return writeFileSync(filepath.Join(indexDir(root), name), b, 0o600)
}

// Find returns the lower that source was last prepared to, without reaching for
// the source. It is false when there is none, or when the rules have changed
// since.
func Find(storageRoot string, source Source, ids runtime.IDs) (Lower, bool, error) {
	src, err := source.parse()
	if err != nil {
		return Lower{}, false, err
	}
	return find(storageRoot, src, ids)
}

func find(root string, src parsed, ids runtime.IDs) (Lower, bool, error) {
	name, err := pinName(src, ids)
	if err != nil {
		return Lower{}, false, err
	}
	b, err := readBounded(filepath.Join(indexDir(root), name), maxIndexRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return Lower{}, false, nil
	}
	if err != nil {
		return Lower{}, false, fmt.Errorf("look up image %q: %w", src.text, err)
	}
	var p pin
	// A damaged or outdated entry is as good as none: preparing writes it anew.
	if err := canon.Unmarshal(b, maxIndexRecord, &p); err != nil || p.Source != src.text || p.IDs != ids ||
		p.Policy != policy() || !keyPattern.MatchString(p.Key) {
		return Lower{}, false, nil
	}
	r, err := readRecord(root, p.Key)
	if err != nil || r.Content.IDs != ids {
		return Lower{}, false, nil
	}
	return r.lower(root), true, nil
}

// List returns every prepared lower, newest first. Directories without a sound
// record are left out.
func List(storageRoot string) ([]Lower, error) {
	entries, err := os.ReadDir(lowersDir(storageRoot))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list prepared images: %w", err)
	}
	var lowers []Lower
	for _, e := range entries {
		if !keyPattern.MatchString(e.Name()) {
			continue
		}
		if r, err := readRecord(storageRoot, e.Name()); err == nil {
			lowers = append(lowers, r.lower(storageRoot))
		}
	}
	sort.SliceStable(lowers, func(i, j int) bool { return lowers[i].PreparedUnix > lowers[j].PreparedUnix })
	return lowers, nil
}

// Lease keeps lower from being reclaimed until the returned Closer is closed or
// this process ends. It fails when the lower is gone or being reclaimed.
func Lease(lower Lower) (io.Closer, error) {
	f, err := os.Open(filepath.Join(filepath.Dir(lower.Rootfs), recordName))
	if err != nil {
		return nil, fmt.Errorf("lease prepared image %.12s: %w", lower.ID, err)
	}
	if err := flock(f, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lease prepared image %.12s: %w", lower.ID, err)
	}
	return f, nil
}

// readBounded reads the regular file path, at most limit bytes long, without
// following a link at its end.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %q: it exceeds the limit of %d bytes", path, limit)
	}
	return b, nil
}

// openRegular opens a regular file for reading; it never waits for a FIFO's
// writer and follows no link at the path's end.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("open %q: not a regular file", path)
	}
	return f, nil
}
