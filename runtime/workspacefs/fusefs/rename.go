package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// end is one end of a rename.
type end struct {
	dir     *node
	name    string
	f       *found        // what is there
	becomes route.Verdict // what is decided about what comes there
}

// Rename answers RENAME and RENAME2.
func (v *view) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	from, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	to, err := v.node(in.Newdir)
	if err != nil {
		return status(err)
	}
	if in.Flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return fuse.EINVAL
	}
	a, b := &end{dir: from, name: oldName}, &end{dir: to, name: newName}
	if done, err := v.rename(a, b, uint(in.Flags)); err != nil || !done {
		return status(err)
	}
	v.fs.tell(func(e Events) {
		before, after := v.table.join(from, oldName), v.table.join(to, newName)
		e.Renamed(before, after, marked(b.becomes, a.f.verdict))
		if in.Flags&unix.RENAME_EXCHANGE != 0 {
			e.Renamed(after, before, marked(a.becomes, b.f.verdict))
		}
	})
	return fuse.OK
}

func marked(verdict, otherwise route.Verdict) route.Verdict {
	if verdict.Mark == route.Plain {
		verdict.Mark = otherwise.Mark
	}
	return verdict
}

// rename does it, unless there is nothing to do.
func (v *view) rename(a, b *end, flags uint) (done bool, err error) {
	v.fs.tree.Lock()
	defer v.fs.tree.Unlock()
	if a.dir.virtual() || b.dir.virtual() {
		return false, unix.EBUSY
	}
	backend, err := v.movable(a, b, flags)
	if err != nil || backend == nowhere {
		return false, err
	}
	from, err := v.verified(a.dir, backend)
	if err != nil {
		return false, err
	}
	defer unix.Close(from)
	to, err := v.made(b.dir, backend)
	if err != nil {
		return false, err
	}
	defer unix.Close(to)
	if err := v.vetted(from, a, b); err != nil {
		return false, err
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		if err := v.vetted(to, b, a); err != nil {
			return false, err
		}
	}
	told, err := v.moving(a, b)
	if err != nil {
		return false, err
	}
	defer told()
	if b.f.st != nil && flags&unix.RENAME_EXCHANGE == 0 {
		v.hold(b.dir, b.name, b.f)
	}
	if err := unix.Renameat2(from, a.name, to, b.name, flags); err != nil {
		return false, err
	}
	v.moved(a, b, flags)
	return true, nil
}

// moving tells of both names before a rename.
func (v *view) moving(a, b *end) (done func(), err error) {
	before, after := v.table.join(a.dir, a.name), v.table.join(b.dir, b.name)
	var dones []func()
	done = func() {
		for _, f := range dones {
			f()
		}
	}
	tell := func(verdict route.Verdict, path, to string) {
		if err != nil {
			return
		}
		var f func()
		if f, err = v.fs.changing(verdict, path, to); err == nil {
			dones = append(dones, f)
		}
	}
	if a.f.isDir() {
		tell(a.f.verdict, before, after)
	}
	if a.becomes.Class != 0 && b.f.isDir() { // an exchange
		tell(b.f.verdict, after, before)
	}
	tell(a.f.verdict, before, "")
	tell(b.becomes, after, "")
	if err != nil {
		done()
	}
	return done, err
}

// movable judges both names of a rename and returns the backend it happens in,
// nowhere when there is nothing to do.
func (v *view) movable(a, b *end, flags uint) (backend, error) {
	var err error
	taken := remove
	if flags&unix.RENAME_EXCHANGE != 0 {
		taken = replace
	}
	if a.f, err = v.removable(a.dir, a.name, taken); err != nil {
		return 0, err
	}
	if b.f, err = v.lookup(b.dir, b.name); err != nil {
		return 0, err
	}
	switch {
	case b.f.st == nil && flags&unix.RENAME_EXCHANGE != 0:
		return 0, unix.ENOENT
	case b.f.st != nil && flags&unix.RENAME_NOREPLACE != 0:
		return 0, unix.EEXIST
	}
	if b.f.st != nil {
		if errno := guard(replace, b.f.verdict); errno != 0 {
			return 0, errno
		}
		if a.f.key() == b.f.key() {
			return nowhere, nil // two names of one file: rename(2) does nothing
		}
	}
	where, err := v.crossing(a, b)
	if err != nil {
		return 0, err
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		back, err := v.crossing(b, a)
		if err == nil && back != where {
			err = unix.EXDEV
		}
		return where, err
	}
	return where, v.replaceable(a, b)
}

// replaceable refuses to put something over what is not of its kind, or not empty.
func (v *view) replaceable(a, b *end) error {
	if b.f.st == nil {
		return nil
	}
	switch {
	case a.f.isDir() && !b.f.isDir():
		return unix.ENOTDIR
	case !a.f.isDir() && b.f.isDir():
		return unix.EISDIR
	case b.f.isDir():
		return v.emptied(b.dir, b.name, b.f)
	}
	return nil
}

// crossing decides whether what is at a may come to b, and in which backend it then
// moves. It fails with EXDEV where the file would have to change its backend or
// class: who moves it then copies, and everything is judged anew.
func (v *view) crossing(a, b *end) (backend, error) {
	kind := uint32(a.f.st.Mode) & unix.S_IFMT
	where, verdict, err := v.destined(b.dir, b.name, kind, b.f)
	if err != nil {
		return 0, err
	}
	b.becomes = verdict
	if errno := guardMove(kind, verdict); errno != 0 {
		return 0, errno
	}
	if errno := guardNames(a.f.st, where, a.f.verdict, verdict); errno != 0 {
		return 0, errno
	}
	if where != a.f.backend || verdict.Class != a.f.verdict.Class {
		return 0, unix.EXDEV
	}
	if b.f.st != nil && (b.f.backend != where || b.f.verdict.Class != verdict.Class) {
		return 0, unix.EXDEV
	}
	if a.f.isDir() && where == host {
		return where, v.subtree(a, b, verdict)
	}
	return where, nil
}

// maxMoved bounds the names below a directory that is renamed as a whole; a larger
// one is moved by copying.
const maxMoved = 50_000

// subtree decides whether a host directory may be renamed as a whole: everything
// below must be shared before and after, and nothing may be in its mirrors.
func (v *view) subtree(a, b *end, verdict route.Verdict) error {
	n := v.table.at(a.dir, a.name)
	if n == nil {
		return unix.ESTALE
	}
	before, err := v.rules(n)
	if err != nil {
		return err
	}
	above, err := v.rules(b.dir)
	if err != nil {
		return err
	}
	fd, err := v.verified(n, host)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	after := v.fs.config.Router.Enter(above, b.name, verdict, lookIn(fd))
	left := maxMoved
	if err := v.shared(fd, before, after, &left); err != nil {
		return err
	}
	if err := v.mirrored(n, fd, &left); err != nil {
		return err
	}
	if err := v.clearMirrors(a.dir, a.name); err != nil {
		return unix.EXDEV
	}
	return nil
}

// mirrored fails with EXDEV when a mirror of a host directory, which is open, shows
// something there or below.
func (v *view) mirrored(n *node, dir int, left *int) error {
	for b := held; b <= transient; b++ {
		d, err := v.mirror(n, b)
		if err != nil {
			return err
		}
		if d == nil {
			continue
		}
		err = v.bare(d.fd, dir, left)
		d.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// bare fails with EXDEV when a mirror has anything but mirrors of directories.
func (v *view) bare(mirror, dir int, left *int) error {
	fd, err := unix.Openat(mirror, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	entries, err := v.fs.readAll(fd, held, 0)
	if err != nil {
		return err
	}
	if *left -= len(entries); *left < 0 {
		return unix.EXDEV
	}
	for _, e := range entries {
		if err := v.bareBelow(fd, dir, e.name, left); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) bareBelow(mirror, dir int, name string, left *int) error {
	below, err := openPath(mirror, name, unix.O_DIRECTORY)
	if err != nil {
		return unix.EXDEV
	}
	defer unix.Close(below)
	of, err := openPath(dir, name, unix.O_DIRECTORY)
	if err != nil {
		return unix.EXDEV
	}
	defer unix.Close(of)
	return v.bare(below, of, left)
}

func lookIn(dir int) route.Look {
	return func(name string) route.Kind {
		st, err := statAt(dir, name)
		if err != nil {
			return route.None
		}
		return kindOf(uint32(st.Mode))
	}
}

// shared walks a host directory and fails with EXDEV at the first name that is not
// shared by either set of rules, and with EBUSY at a git directory. It returns EXDEV
// too when there is more than left.
func (v *view) shared(dir int, before, after route.Directory, left *int) error {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	entries, err := v.fs.readAll(fd, host, v.fs.device)
	if err != nil {
		return err
	}
	if *left -= len(entries); *left < 0 {
		return unix.EXDEV
	}
	for _, e := range entries {
		if err := v.sharedName(fd, e, before, after, left); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) sharedName(dir int, e entry, before, after route.Directory, left *int) error {
	if e.name == ".git" {
		return unix.EBUSY
	}
	r := v.fs.config.Router
	was := r.Name(before, e.name, route.Names{Host: kindOf(e.kind)})
	becomes := r.Name(after, e.name, route.Names{Own: kindOf(e.kind)})
	for _, verdict := range []route.Verdict{was, becomes} {
		if verdict.Pinned {
			return unix.EBUSY
		}
		if verdict.Class != route.Shared || verdict.Vetted {
			return unix.EXDEV
		}
	}
	if e.kind != unix.S_IFDIR {
		return namesBelow(dir, e, was, becomes)
	}
	fd, err := openPath(dir, e.name, unix.O_DIRECTORY)
	if err != nil {
		return stale(err)
	}
	defer unix.Close(fd)
	return v.shared(fd, r.Enter(before, e.name, was, lookIn(fd)), r.Enter(after, e.name, becomes, lookIn(fd)), left)
}

// namesBelow is guardNames for what lies in a directory that is renamed.
func namesBelow(dir int, e entry, was, becomes route.Verdict) error {
	if e.kind != unix.S_IFREG || !becomes.Rule && !disguises(was, becomes) {
		return nil
	}
	st, err := statAt(dir, e.name)
	if err != nil {
		return stale(err)
	}
	return refusal(guardNames(st, host, was, becomes))
}

// moved follows a rename that has happened. FS.tree is held for writing.
func (v *view) moved(a, b *end, flags uint) {
	if a.f.isDir() || b.f.st != nil && b.f.isDir() {
		v.fs.renames.Add(1) // the rules below belong to the old path
		v.fs.mirrors.Add(1)
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		v.table.exchange(a, b)
		return
	}
	if b.f.st != nil {
		v.lost(b.dir, b.name, b.f)
	}
	v.table.move(a, b)
}
