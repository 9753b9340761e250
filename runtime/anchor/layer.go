package anchor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"lazaret.dev/lazaret/runtime"
)

// maxLinks bounds the symbolic links one path may lead through, as the kernel does.
const maxLinks = 40

// Layer is the guest layer under construction. Its directories take owner and mode
// from the lower's directory of the same path, because in an overlay the topmost
// directory's count.
type Layer struct {
	top, lower *os.Root
}

// NewLayer opens the empty directory dir as the guest layer over lower.
func NewLayer(dir, lower string) (*Layer, error) {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open guest layer: %w", err)
	}
	under, err := os.OpenRoot(lower)
	if err != nil {
		top.Close()
		return nil, fmt.Errorf("open prepared lower: %w", err)
	}
	return &Layer{top: top, lower: under}, nil
}

// Close closes the layer's directories.
func (l *Layer) Close() error { return errors.Join(l.top.Close(), l.lower.Close()) }

// Add writes one file or link. A link of the image in the way of its parents is
// followed inside the image; one in its own place is covered.
func (l *Layer) Add(f runtime.GuestFile) error {
	name, err := l.place(f.Path)
	if err != nil {
		return err
	}
	if f.Link != "" {
		err = l.top.Symlink(f.Link, name)
	} else if err = l.top.WriteFile(name, f.Data, 0o600); err == nil {
		err = l.top.Chmod(name, fs.FileMode(f.Mode)&0o777)
	}
	if err != nil {
		return fmt.Errorf("write guest file %q: %w", f.Path, err)
	}
	return nil
}

// AddPoint makes a mount point: a directory when guest ends in a slash, an empty
// file otherwise.
func (l *Layer) AddPoint(guest string) error {
	if strings.HasSuffix(guest, "/") {
		name, err := l.resolve(guest)
		if err != nil {
			return err
		}
		return l.mkdirAll(name)
	}
	name, err := l.place(guest)
	if err != nil {
		return err
	}
	f, err := l.top.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make mount point %q: %w", guest, err)
	}
	return f.Close()
}

// place resolves guest's parents, makes them, and returns the file's name.
func (l *Layer) place(guest string) (string, error) {
	parent, err := l.resolve(path.Dir(guest))
	if err != nil {
		return "", err
	}
	if err := l.mkdirAll(parent); err != nil {
		return "", err
	}
	return path.Join(parent, path.Base(guest)), nil
}

// resolve follows the lower's links in guest, never out of the lower, and returns
// the path relative to the root.
func (l *Layer) resolve(guest string) (string, error) {
	rest := strings.Split(strings.Trim(path.Clean("/"+guest), "/"), "/")
	done := "."
	for links := 0; len(rest) > 0; {
		next := rest[0]
		rest = rest[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		candidate := path.Join(done, next)
		info, err := l.lower.Lstat(candidate)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = candidate // also when it is missing: the layer makes it
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("guest path %q: too many symbolic links in the image", guest)
		}
		target, err := l.lower.Readlink(candidate)
		if err != nil {
			return "", fmt.Errorf("guest path %q: %w", guest, err)
		}
		if path.IsAbs(target) {
			done = "."
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
}

// mkdirAll makes every directory of name, each like the lower's.
func (l *Layer) mkdirAll(name string) error {
	if name == "." {
		return nil
	}
	if info, err := l.top.Lstat(name); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("make guest directory %q: a file of the guest layer is in its place", name)
		}
		return nil
	}
	if err := l.mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	if err := l.top.Mkdir(name, 0o755); err != nil {
		return fmt.Errorf("make guest directory %q: %w", name, err)
	}
	like, err := l.lower.Lstat(name)
	if err != nil || !like.IsDir() {
		return nil
	}
	return copyAttributes(l.top, name, like)
}

// copyAttributes gives name in root the owner, mode and times of like.
func copyAttributes(root *os.Root, name string, like fs.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("copy attributes to %q: no owner known", name)
	}
	err := root.Chown(name, int(st.Uid), int(st.Gid))
	if err == nil { // after the chown, which clears bits
		err = root.Chmod(name, like.Mode()&(fs.ModePerm|fs.ModeSticky|fs.ModeSetgid))
	}
	if err == nil {
		err = root.Chtimes(name, like.ModTime(), like.ModTime())
	}
	if err != nil {
		return fmt.Errorf("copy attributes to %q: %w", name, err)
	}
	return nil
}
