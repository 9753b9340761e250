package fusefs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Lookup answers LOOKUP.
func (v *view) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	dir, err := v.node(header.NodeId)
	if err != nil {
		return status(err)
	}
	if dir.virtual() {
		return v.lookupGit(name, out)
	}
	if len(name) > unix.NAME_MAX {
		return fuse.Status(unix.ENAMETOOLONG)
	}
	f, err := v.lookup(dir, name)
	if err != nil {
		return status(err)
	}
	v.entry(out, dir, name, f)
	return fuse.OK
}

// lookup finds a name for the kernel to keep: a watch on a host directory comes first.
func (v *view) lookup(dir *node, name string) (*found, error) {
	if _, err := v.current(dir); err != nil {
		return nil, err
	}
	if dir.key.backend == host {
		if err := v.enter(dir); err != nil {
			return nil, err
		}
	}
	return v.find(dir, name)
}

// Forget answers FORGET.
func (v *view) Forget(id, lookups uint64) {
	for _, g := range v.table.forget(id, lookups) {
		fd := -1
		if g.d != nil {
			fd = g.d.fd
		}
		if v.fs.config.OnForget != nil {
			v.fs.config.OnForget(uint64(v.kind)<<63|g.id, fd)
		}
		if g.d != nil {
			g.d.release()
		}
	}
}

// Readlink answers READLINK.
func (v *view) Readlink(_ <-chan struct{}, header *fuse.InHeader) ([]byte, fuse.Status) {
	n, err := v.node(header.NodeId)
	if err == nil {
		_, err = v.current(n)
	}
	if err != nil {
		return nil, status(err)
	}
	d, err := v.placeOf(n)
	if err != nil {
		return nil, status(err)
	}
	defer d.release()
	target := make([]byte, unix.PathMax)
	size, err := unix.Readlinkat(d.fd, "", target)
	if err != nil {
		return nil, status(err)
	}
	return target[:size], fuse.OK
}

// placeOf returns an O_PATH descriptor of a node: kept for directories and for what
// has lost its name, opened for everything else. The caller releases it.
func (v *view) placeOf(n *node) (*descriptor, error) {
	if n.isDir() {
		return v.itself(n)
	}
	if d := v.fs.pool.take(&n.path); d != nil {
		return d, nil
	}
	fd, err := v.open(n, 0)
	if err != nil {
		return nil, err
	}
	return v.fs.pool.lone(fd), nil
}

// AddGitDir adds the directory of the host at path, relative to the workspace, to
// the root of the git view, and returns its number, which is its name there; "" is the
// host tree itself, where that is a git directory. The error says that there is no such directory, or that it is not the host's.
func (fs *FS) AddGitDir(path string) (int, error) {
	v := fs.views[Git]
	n := v.workspace
	for name := range strings.SplitSeq(path, "/") {
		if path == "" {
			break
		}
		f, err := v.lookup(n, name)
		if err == nil && (f.st == nil || !f.isDir() || f.backend != host) {
			err = unix.ENOTDIR
		}
		if err != nil {
			return 0, fmt.Errorf("add git directory %q: %q: %w", path, name, err)
		}
		n = v.table.look(n, name, f)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gits = append(v.gits, n)
	return len(v.gits) - 1, nil
}

// gitDir returns the directory with a name in the git view's root, nil if there is
// none.
func (v *view) gitDir(name string) *node {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || i >= len(v.gits) || strconv.Itoa(i) != name {
		return nil
	}
	return v.gits[i]
}

func (v *view) lookupGit(name string, out *fuse.EntryOut) fuse.Status {
	n := v.gitDir(name)
	if n == nil {
		return fuse.ENOENT
	}
	st, err := v.attributes(n)
	if err != nil {
		return status(err)
	}
	v.table.again(n)
	out.NodeId = n.id
	out.SetEntryTimeout(v.fs.config.Cache)
	out.SetAttrTimeout(v.fs.config.Cache)
	v.fs.fill(&out.Attr, st, n.key.backend)
	return fuse.OK
}
