package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// fill translates attributes. Inode numbers of different trees must not look the
// same: programs take equal ones for hard links.
func (fs *FS) fill(out *fuse.Attr, st *unix.Statx_t, b backend) {
	*out = fuse.Attr{
		Ino: fs.number(st, b), Size: st.Size, Blocks: st.Blocks,
		Atime: uint64(st.Atime.Sec), Atimensec: st.Atime.Nsec,
		Mtime: uint64(st.Mtime.Sec), Mtimensec: st.Mtime.Nsec,
		Ctime: uint64(st.Ctime.Sec), Ctimensec: st.Ctime.Nsec,
		Mode: uint32(st.Mode), Nlink: st.Nlink, Blksize: st.Blksize,
		Rdev: uint32(unix.Mkdev(st.Rdev_major, st.Rdev_minor)),
	}
	out.Uid, out.Gid = st.Uid, st.Gid
}

func (fs *FS) number(st *unix.Statx_t, b backend) uint64 {
	return fs.inode(st.Ino, device(st), b)
}

func (fs *FS) inode(ino, device uint64, b backend) uint64 {
	switch {
	case b == held:
		return ino | 1<<63
	case b == transient:
		return ino | 1<<62
	case device != fs.device:
		return ino ^ device<<40
	}
	return ino
}

// entry answers a lookup: what was found becomes known to the kernel.
func (v *view) entry(out *fuse.EntryOut, dir *node, name string, f *found) {
	cache := v.cacheTime(dir)
	out.SetEntryTimeout(cache)
	if f.st == nil {
		v.absent(dir, name)
		return // node 0: an absence, cached as well
	}
	n := v.table.look(dir, name, f)
	v.see(n, f.st)
	out.NodeId = n.id
	out.SetAttrTimeout(cache)
	v.fs.fill(&out.Attr, f.st, f.backend)
}

// cacheTime is how long the kernel may keep what is in dir.
func (v *view) cacheTime(dir *node) time.Duration {
	if v.unwatched(dir) {
		return v.fs.config.Unwatched
	}
	return v.fs.config.Cache
}

func (v *view) unwatched(dir *node) bool {
	dir.dir.mu.Lock()
	defer dir.dir.mu.Unlock()
	return dir.dir.unwatched
}

// see compares what the kernel is told of a file with what it was told before. Where
// it drops data only when told to, it is told to after a change nobody told of.
func (v *view) see(n *node, st *unix.Statx_t) {
	if v.explicit && n.kind == unix.S_IFREG && v.table.stamp(n, st) {
		v.notifier.inode(n.id)
	}
}

// attributes reads a node's attributes where it was found, or from what is still
// open of it.
func (v *view) attributes(n *node) (*unix.Statx_t, error) {
	if n.virtual() {
		return v.virtualAttributes()
	}
	if d := v.openOf(n); d != nil {
		defer d.release()
		return stat(d.fd)
	}
	if n.isDir() {
		d, err := v.itself(n)
		if err != nil {
			return nil, err
		}
		defer d.release()
		return stat(d.fd)
	}
	if n.key.backend == nowhere {
		return v.attributesOfStandIn(n)
	}
	parent, name := v.table.above(n)
	st, err := v.probe(parent, n.key.backend, name)
	if err == nil && (st == nil || identify(st) != n.key.identity) {
		err = unix.ESTALE
	}
	return st, err
}

// openOf returns whatever is open of a node, nil for nothing. The caller releases it.
func (v *view) openOf(n *node) *descriptor {
	if d := v.fs.pool.take(&n.path); d != nil {
		return d
	}
	if d := v.fs.files.take(&n.writing); d != nil {
		return d
	}
	return v.fs.files.take(&n.reading)
}

func (v *view) attributesOfStandIn(n *node) (*unix.Statx_t, error) {
	parent, name := v.table.above(n)
	st, err := v.probe(parent, host, name)
	if err == nil && (st == nil || identify(st) != n.key.identity) {
		err = unix.ESTALE
	}
	if err != nil {
		return nil, err
	}
	return standIn(st), nil
}

func (v *view) virtualAttributes() (*unix.Statx_t, error) {
	st, err := stat(v.fs.roots[host])
	if err != nil {
		return nil, err
	}
	st.Mode = unix.S_IFDIR | 0o555
	return st, nil
}

// GetAttr answers GETATTR.
func (v *view) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	if _, err := v.current(n); err != nil {
		return status(err)
	}
	st, err := v.attributes(n)
	if err != nil {
		return status(err)
	}
	v.answer(out, n, st)
	return fuse.OK
}

func (v *view) answer(out *fuse.AttrOut, n *node, st *unix.Statx_t) {
	cache := v.fs.config.Cache
	if !n.root {
		parent, _ := v.table.above(n)
		cache = v.cacheTime(parent)
	}
	out.SetTimeout(cache)
	v.fs.fill(&out.Attr, st, n.key.backend)
	v.see(n, st)
}
