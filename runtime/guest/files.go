package guest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/guest/control"
)

var errRelative = errors.New("path is not absolute")

// poke sets a path's mode to what it is. Of everything tried, this alone wakes
// watchers and touches neither content nor modification time. It looks at and changes
// one inode, and follows no link in the last place: what is poked lies where guest users
// write, and none of them may choose whose mode guest root sets to what.
func poke(path string) error {
	if !filepath.IsAbs(path) {
		return errRelative
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("look at %q: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at %q: %w", path, err)
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return control.ErrNotRegular
	}
	// fchmod(2) takes no O_PATH descriptor; the link in proc leads to its inode.
	if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777); err != nil {
		return fmt.Errorf("poke %q: %w", path, err)
	}
	return nil
}

// readFile never blocks on a FIFO or a device in the file's place.
func readFile(path string, limit int64) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, errRelative
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at %q: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, control.ErrNotRegular
	}
	limit = min(limit, control.MaxFile)
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, control.ErrTooLarge
	}
	return data, nil
}

// writeFile replaces path by rename, so that a reader sees the old or the new
// content and a link in its place is replaced, not followed.
func writeFile(path string, mode uint32, data []byte) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
		return errRelative
	}
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the parents of %q: %w", path, err)
	}
	temp := filepath.Join(dir, ".lazaret-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("create a temporary file for %q: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(os.FileMode(mode&0o777)), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}
