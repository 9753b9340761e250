package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Unlink answers UNLINK.
func (v *view) Unlink(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return v.remove(header.NodeId, name, 0)
}

// Rmdir answers RMDIR.
func (v *view) Rmdir(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return v.remove(header.NodeId, name, unix.AT_REMOVEDIR)
}

func (v *view) remove(id uint64, name string, flags int) fuse.Status {
	dir, err := v.node(id)
	if err != nil {
		return status(err)
	}
	verdict, err := v.unlink(dir, name, flags)
	if err != nil {
		return status(err)
	}
	v.fs.tell(func(e Events) { e.Removed(v.table.join(dir, name), verdict) })
	return fuse.OK
}

func (v *view) unlink(dir *node, name string, flags int) (route.Verdict, error) {
	v.fs.tree.RLock()
	defer v.fs.tree.RUnlock()
	f, err := v.removable(dir, name, remove)
	if err != nil {
		return route.Verdict{}, err
	}
	switch {
	case flags == 0 && f.isDir():
		return f.verdict, unix.EISDIR
	case flags != 0 && !f.isDir():
		return f.verdict, unix.ENOTDIR
	}
	fd, err := v.verified(dir, f.backend)
	if err != nil {
		return f.verdict, err
	}
	defer unix.Close(fd)
	if f.isDir() {
		if err := v.emptied(dir, name, f); err != nil {
			return f.verdict, err
		}
	}
	done, err := v.fs.changing(f.verdict, v.table.join(dir, name), "")
	if err != nil {
		return f.verdict, err
	}
	defer done()
	v.hold(dir, name, f)
	if err := unix.Unlinkat(fd, name, flags); err != nil {
		return f.verdict, err
	}
	v.lost(dir, name, f)
	return f.verdict, nil
}

// removable finds a name that the sandbox may take away, or replace.
func (v *view) removable(dir *node, name string, a act) (*found, error) {
	if dir.virtual() {
		return nil, unix.EBUSY
	}
	f, err := v.lookup(dir, name)
	if err == nil && f.st == nil {
		err = unix.ENOENT
	}
	if err == nil {
		err = refusal(guard(a, f.verdict))
	}
	return f, err
}

// hold keeps a file that is about to lose its name: it may be in use.
func (v *view) hold(dir *node, name string, f *found) {
	n := v.table.at(dir, name)
	if n == nil || n.key != f.key() {
		return
	}
	if fd, err := v.open(n, 0); err == nil { // otherwise it is gone already
		v.fs.pool.pin(&n.path, fd)
	}
}

// lost follows the removal of a name.
func (v *view) lost(dir *node, name string, f *found) {
	if n := v.table.remove(dir, name); n != nil && !v.table.removed(n) {
		v.fs.pool.drop(&n.path) // it has other names to be found by
	}
	if f.backend == host && !f.isDir() {
		v.fs.links.removed(identify(f.st))
	}
}

// emptied makes a directory that shows nothing ready to be removed. It fails with
// ENOTEMPTY when the directory shows something.
func (v *view) emptied(dir *node, name string, f *found) error {
	if f.backend != host {
		return nil // the removal itself tells
	}
	n := v.table.at(dir, name)
	if n == nil {
		return unix.ESTALE
	}
	entries, err := v.list(n)
	if err != nil {
		return err
	}
	if len(entries) > len(dots(0)) {
		return unix.ENOTEMPTY
	}
	return v.clearMirrors(dir, name)
}

// clearMirrors removes the mirrors of a host directory that is about to be removed or
// renamed. It fails with ENOTEMPTY when something is in them.
func (v *view) clearMirrors(dir *node, name string) error {
	for b := held; b <= transient; b++ {
		d, err := v.mirror(dir, b)
		if err != nil {
			return err
		}
		if d == nil {
			continue
		}
		err = v.prune(d.fd, name, maxDepth)
		d.release()
		if err != nil && !is(err, unix.ENOENT, unix.ENOTDIR) {
			return err
		}
	}
	return nil
}

// maxDepth bounds how deep a mirror is looked through.
const maxDepth = 256

// prune removes a tree of directories with nothing else in it.
func (v *view) prune(dir int, name string, depth int) error {
	if depth == 0 {
		return unix.ENOTEMPTY
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	entries, err := v.fs.readAll(fd, held, 0)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.kind != unix.S_IFDIR {
			return unix.ENOTEMPTY
		}
	}
	for _, e := range entries {
		if err := v.prune(fd, e.name, depth-1); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil {
		return err
	}
	v.fs.mirrors.Add(1)
	return nil
}
