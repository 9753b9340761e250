package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// tree is a directory of the host that is read by paths below it. No link is followed.
type tree struct{ dir *os.File }

// open opens what is at path. Errors are fs.ErrNotExist for what is not there or
// behind a link, and the kernel's.
func (t tree) open(path string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_NOFOLLOW | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if path == "" {
		path = "."
	}
	for {
		fd, err := unix.Openat2(int(t.dir.Fd()), path, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR): // a rename on the way, or a signal
		case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
			return nil, fmt.Errorf("open %q: %w", path, fs.ErrNotExist)
		default:
			return nil, fmt.Errorf("open %q: %w", path, err)
		}
	}
}

// read returns the content of a regular file, at most limit bytes of it. Anything else
// is fs.ErrNotExist.
func (t tree) read(path string, limit int64) ([]byte, error) {
	f, err := t.open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ENXIO) {
		err = fs.ErrNotExist // a FIFO or a socket
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at %q: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %q: %w", path, fs.ErrNotExist)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return data, nil
}

// look tells what is at path.
func (t tree) look(path string) route.Kind {
	f, err := t.open(path, unix.O_PATH)
	if err != nil {
		return route.None
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return route.None
	}
	return kindOf(st.Mode)
}

func (t tree) readLink(path string) (string, error) {
	f, err := t.open(path, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buffer)
	if err != nil {
		return "", fmt.Errorf("read link %q: %w", path, err)
	}
	return string(buffer[:n]), nil
}

func kindOf(mode uint32) route.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return route.File
	case unix.S_IFDIR:
		return route.Dir
	case unix.S_IFLNK:
		return route.Symlink
	}
	return route.Other
}

// makeDir makes and opens a directory of its own in dir.
func makeDir(dir *os.File, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(dir.Fd()), name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("make %q in Domain storage: %w", name, err)
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q in Domain storage: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
