package fusefs

import (
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// making is a new name, decided about and found again by its whole path.
type making struct {
	dir     *node
	name    string
	backend backend
	verdict route.Verdict
	fd      int // the directory it is made in; the maker closes it
}

// prepare decides where something of the given kind (type bits) is to be made under a
// name. The caller holds FS.tree.
func (v *view) prepare(dir *node, name string, kind uint32) (*making, error) {
	if dir.virtual() {
		return nil, unix.EROFS
	}
	f, err := v.lookup(dir, name)
	if err != nil {
		return nil, err
	}
	if f.st != nil {
		return nil, unix.EEXIST
	}
	m := &making{dir: dir, name: name}
	if m.backend, m.verdict, err = v.destined(dir, name, kind, f); err != nil {
		return nil, err
	}
	if errno := guard(create, m.verdict); errno != 0 {
		return nil, errno
	}
	if errno := guardKind(kind, m.verdict); errno != 0 {
		return nil, errno
	}
	m.fd, err = v.made(dir, m.backend)
	return m, err
}

// destined tells where something of the given kind that comes to a name in dir would
// be, given what is there.
func (v *view) destined(dir *node, name string, kind uint32, there *found) (backend, route.Verdict, error) {
	if dir.key.backend != host {
		verdict, err := v.current(dir)
		verdict.Pinned = false
		return dir.key.backend, verdict, err
	}
	rules, err := v.rules(dir)
	if err != nil {
		return 0, route.Verdict{}, err
	}
	verdict := v.fs.config.Router.Name(rules, name, route.Names{Host: there.names.Host, Own: kindOf(kind)})
	switch verdict.Class {
	case route.Held:
		return held, verdict, nil
	case route.Transient:
		return transient, verdict, nil
	case route.Absent:
		return nowhere, verdict, nil
	}
	return host, verdict, nil
}

// created gives what was made to its maker, makes it known, and tells of it.
func (v *view) created(m *making, caller *fuse.Caller, out *fuse.EntryOut) error {
	v.own(m, caller)
	st, err := statAt(m.fd, m.name)
	if err != nil {
		return err
	}
	f := &found{st: st, backend: m.backend, verdict: m.verdict, epoch: v.fs.epoch()}
	v.entry(out, m.dir, m.name, f)
	return nil
}

// own gives a new file to whoever made it, where that is somebody else and possible.
func (v *view) own(m *making, caller *fuse.Caller) {
	uid, gid := -1, -1
	if int(caller.Uid) != unix.Geteuid() {
		uid = int(caller.Uid)
	}
	if int(caller.Gid) != unix.Getegid() {
		gid = int(caller.Gid)
	}
	if uid >= 0 || gid >= 0 {
		// Ids that are not mapped on the host stay the developer's.
		_ = unix.Fchownat(m.fd, m.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	}
}

// make is what all new names have in common; make makes what was decided about.
func (v *view) make(in *fuse.InHeader, name string, kind uint32, out *fuse.EntryOut, make func(*making) error) fuse.Status {
	dir, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	m, err := v.perform(dir, name, kind, make, in, out)
	if err != nil {
		return status(err)
	}
	v.announce(m, kind)
	return fuse.OK
}

func (v *view) perform(dir *node, name string, kind uint32, make func(*making) error, in *fuse.InHeader, out *fuse.EntryOut) (*making, error) {
	v.fs.tree.RLock()
	defer v.fs.tree.RUnlock()
	m, err := v.prepare(dir, name, kind)
	if err != nil {
		return nil, err
	}
	defer unix.Close(m.fd)
	done, err := v.fs.changing(m.verdict, v.table.join(dir, name), "")
	if err != nil {
		return nil, err
	}
	defer done()
	if err := make(m); err != nil {
		return nil, err
	}
	return m, v.created(m, &in.Caller, out)
}

// announce tells of a new name.
func (v *view) announce(m *making, kind uint32) {
	v.fs.tell(func(e Events) {
		path := v.table.join(m.dir, m.name)
		e.Created(path, m.verdict)
		if kind != unix.S_IFDIR || m.backend != held || m.dir.key.backend != host {
			return
		}
		n := v.table.at(m.dir, m.name)
		if n == nil {
			return
		}
		if d, err := v.itself(n); err == nil { // gone again otherwise
			e.MadeHeldDir(path, d.fd)
			d.release()
		}
	})
}

// Mkdir answers MKDIR.
func (v *view) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return v.make(&in.InHeader, name, unix.S_IFDIR, out, func(m *making) error {
		return unix.Mkdirat(m.fd, name, in.Mode&0o7777)
	})
}

// Symlink answers SYMLINK.
func (v *view) Symlink(_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return v.make(in, name, unix.S_IFLNK, out, func(m *making) error {
		return unix.Symlinkat(target, m.fd, name)
	})
}

// Mknod answers MKNOD.
func (v *view) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	kind := in.Mode & unix.S_IFMT
	if kind == unix.S_IFDIR || kind == unix.S_IFLNK {
		return fuse.EINVAL
	}
	if kind == 0 {
		kind = unix.S_IFREG
	}
	return v.make(&in.InHeader, name, kind, out, func(m *making) error {
		if kind == unix.S_IFREG {
			return makeFile(m.fd, name, in.Mode)
		}
		return unix.Mknodat(m.fd, name, in.Mode, int(in.Rdev))
	})
}

// makeFile makes an empty regular file.
func makeFile(dir int, name string, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode&0o7777&^(unix.S_ISUID|unix.S_ISGID))
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Create answers CREATE. It hands out no handle: the kernel would never give one of
// the tree view back.
func (v *view) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	made := v.make(&in.InHeader, name, unix.S_IFREG, &out.EntryOut, func(m *making) error {
		return makeFile(m.fd, name, in.Mode)
	})
	if made != fuse.Status(unix.EEXIST) || in.Flags&unix.O_EXCL != 0 {
		return made
	}
	return v.openExisting(in, name, out)
}

// openExisting answers CREATE for a name that somebody else made just now.
func (v *view) openExisting(in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	dir, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	f, err := v.lookup(dir, name)
	if err != nil {
		return status(err)
	}
	if f.st == nil || uint32(f.st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return fuse.Status(unix.ESTALE) // the kernel asks again
	}
	v.entry(&out.EntryOut, dir, name, f)
	n := v.table.get(out.NodeId)
	if err = v.openable(n, in.Flags); err == nil && in.Flags&unix.O_TRUNC != 0 {
		err = v.truncate(n, 0)
		out.Size = 0
	}
	if err != nil {
		v.Forget(n.id, 1)
	}
	return status(err)
}

// Link answers LINK.
func (v *view) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	n, err := v.node(in.Oldnodeid)
	if err != nil {
		return status(err)
	}
	return v.make(&in.InHeader, name, n.kind, out, func(m *making) error {
		return v.link(n, m)
	})
}

// link gives a node one more name. FS.tree is held.
func (v *view) link(n *node, m *making) error {
	verdict, err := v.current(n)
	if err == nil {
		err = refusal(guardLink(verdict, n.key.backend, m.verdict, m.backend))
	}
	if err == nil && v.table.removed(n) {
		err = unix.ESTALE // if it has a name, nobody knows which
	}
	if err != nil {
		return err
	}
	d, err := v.locate(n)
	if err != nil {
		return err
	}
	defer d.release()
	if errno := guardLink(d.verdict, n.key.backend, m.verdict, m.backend); errno != 0 {
		return errno
	}
	st, err := stat(d.fd)
	if err != nil {
		return err
	}
	if err := v.linkat(n, d.fd, m.fd, m.name); err != nil {
		return err
	}
	if m.backend == host && n.kind == unix.S_IFREG {
		return v.fs.links.added(n.key.identity, st.Nlink)
	}
	return nil
}

// linkat makes the link through the file's own descriptor, so that it is the file
// that was decided about.
func (v *view) linkat(n *node, place, dir int, name string) error {
	if n.kind == unix.S_IFLNK { // a link to a link cannot be made through /proc
		parent, old := v.table.above(n)
		fd, err := v.verified(parent, n.key.backend)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Linkat(fd, old, dir, name, 0)
	}
	return unix.Linkat(v.fs.self, strconv.Itoa(place), dir, name, unix.AT_SYMLINK_FOLLOW)
}
