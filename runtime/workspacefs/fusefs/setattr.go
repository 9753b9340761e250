package fusefs

import (
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// SetAttr answers SETATTR.
func (v *view) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	if st := v.unchanged(n, in); st != nil {
		v.answer(out, n, st)
		return fuse.OK
	}
	st, err := v.setAttributes(n, in)
	if err != nil {
		return status(err)
	}
	v.wrote(n)
	v.answer(out, n, st)
	return fuse.OK
}

func (v *view) setAttributes(n *node, in *fuse.SetAttrIn) (*unix.Statx_t, error) {
	v.fs.tree.RLock()
	defer v.fs.tree.RUnlock()
	kind := change
	if _, ok := in.GetSize(); ok {
		kind = write
	}
	place, err := v.changeable(n, kind)
	if err != nil {
		return nil, err
	}
	defer place.release()
	done, err := v.fs.changing(place.verdict, place.path, "")
	if err != nil {
		return nil, err
	}
	defer done()
	for _, set := range []func(*node, *descriptor, *fuse.SetAttrIn) error{v.setOwner, v.setMode, v.setSize, v.setTimes} {
		if err := set(n, place.descriptor, in); err != nil {
			return nil, err
		}
	}
	return stat(place.fd)
}

func (v *view) setOwner(_ *node, place *descriptor, in *fuse.SetAttrIn) error {
	uid, gid := -1, -1
	if u, ok := in.GetUID(); ok {
		uid = int(u)
	}
	if g, ok := in.GetGID(); ok {
		gid = int(g)
	}
	if uid < 0 && gid < 0 {
		return nil
	}
	return unix.Fchownat(place.fd, "", uid, gid, unix.AT_EMPTY_PATH)
}

func (v *view) setMode(n *node, place *descriptor, in *fuse.SetAttrIn) error {
	mode, ok := in.GetMode()
	if !ok {
		return nil
	}
	if errno := guardMode(n.kind|mode, n.key.backend); errno != 0 {
		return errno
	}
	if n.kind == unix.S_IFLNK {
		return unix.EOPNOTSUPP
	}
	v.fs.files.drop(&n.writing) // it may be made executable, and executed
	return unix.Fchmodat(v.fs.self, strconv.Itoa(place.fd), mode, 0)
}

func (v *view) setSize(n *node, place *descriptor, in *fuse.SetAttrIn) error {
	size, ok := in.GetSize()
	if !ok {
		return nil
	}
	d, err := v.writer(n, place)
	if err != nil {
		return err
	}
	defer d.release()
	if in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		if err := v.killPrivileges(d.fd); err != nil {
			return err
		}
	}
	return again(func() error { return unix.Ftruncate(d.fd, int64(size)) })
}

func (v *view) setTimes(_ *node, place *descriptor, in *fuse.SetAttrIn) error {
	if in.Valid&(fuse.FATTR_ATIME|fuse.FATTR_MTIME) == 0 {
		return nil
	}
	times := []unix.Timespec{
		timespec(in.Valid, fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW, in.Atime, in.Atimensec),
		timespec(in.Valid, fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW, in.Mtime, in.Mtimensec),
	}
	return unix.UtimesNanoAt(place.fd, "", times, unix.AT_EMPTY_PATH)
}

func timespec(valid uint32, set, now uint32, sec uint64, nsec uint32) unix.Timespec {
	switch {
	case valid&set == 0:
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	case valid&now != 0:
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	}
	return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
}

// truncate gives a file another size.
func (v *view) truncate(n *node, size int64) error {
	d, err := v.writable(n)
	if err != nil {
		return err
	}
	defer d.end()
	return again(func() error { return unix.Ftruncate(d.fd, size) })
}

// StatFs answers STATFS with the figures of the tree a node is in.
func (v *view) StatFs(_ <-chan struct{}, header *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	root := v.fs.roots[host]
	if n, err := v.node(header.NodeId); err == nil && n.key.backend != nowhere {
		root = v.fs.roots[n.key.backend]
	}
	var st unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(root, &st) }); err != nil {
		return status(err)
	}
	*out = fuse.StatfsOut{
		Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail, Files: st.Files, Ffree: st.Ffree,
		Bsize: uint32(st.Bsize), Frsize: uint32(st.Frsize), NameLen: uint32(st.Namelen),
	}
	return fuse.OK
}
