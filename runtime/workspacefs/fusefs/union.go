package fusefs

import (
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// A directory of the host is shown as a union: the host's names as far as they are
// decided to be visible, and the names of its two mirrors. A directory in Domain
// storage, or of the generation, is shown as it is: nothing of the host is there.

// found is what a name stands for.
type found struct {
	st      *unix.Statx_t // nil when there is nothing
	backend backend
	verdict route.Verdict
	epoch   uint64
	names   route.Names // what there is, shown or not
}

func (f *found) isDir() bool { return uint32(f.st.Mode)&unix.S_IFMT == unix.S_IFDIR }

// key leaves the class of a directory out: what is mounted on one must stay when only
// the rules for it change.
func (f *found) key() key {
	if f.isDir() {
		return key{identify(f.st), f.backend, 0}
	}
	return key{identify(f.st), f.backend, f.verdict.Class}
}

// epoch grows whenever a decision made before may be different now.
func (fs *FS) epoch() uint64 { return fs.config.Router.Generation() + fs.renames.Load() }

// find tells what name in dir stands for. An absent name is no error: its st is
// nil. Errors are the kernel's, ESTALE when dir is not where it was, and EINVAL for what
// is no single name. Every name that anything is done with comes through here.
func (v *view) find(dir *node, name string) (*found, error) {
	if !single(name) {
		return nil, unix.EINVAL
	}
	f := &found{epoch: v.fs.epoch()}
	if dir.key.backend != host {
		st, err := v.probe(dir, dir.key.backend, name)
		f.st, f.backend, f.verdict = st, dir.key.backend, v.verdict(dir)
		f.verdict.Pinned = false
		return f, err
	}
	var at [transient + 1]*unix.Statx_t
	for b := host; b <= transient; b++ {
		st, err := v.probe(dir, b, name)
		if err != nil {
			return nil, err
		}
		at[b] = st
	}
	f.names = names(at)
	if f.names == (route.Names{}) {
		return f, nil
	}
	rules, err := v.rules(dir)
	if err != nil {
		return nil, err
	}
	f.verdict = v.fs.config.Router.Name(rules, name, f.names)
	f.choose(at)
	return f, nil
}

// single says that name is one component of a path and leads nowhere else.
func single(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// probe reads what one backend has under a name, nil if nothing.
func (v *view) probe(dir *node, b backend, name string) (*unix.Statx_t, error) {
	d, err := v.base(dir, b)
	if d == nil || err != nil {
		return nil, err
	}
	defer d.release()
	st, err := statAt(d.fd, name)
	if is(err, unix.ENOENT) {
		return nil, nil
	}
	return st, err
}

func names(at [transient + 1]*unix.Statx_t) (n route.Names) {
	if at[host] != nil {
		n.Host = kindOf(uint32(at[host].Mode))
	}
	if own := at[held]; own != nil {
		n.Own = kindOf(uint32(own.Mode))
	} else if own := at[transient]; own != nil {
		n.Own = kindOf(uint32(own.Mode))
	}
	return n
}

// choose takes the backend that the verdict shows. What Domain storage has and the
// host has not is held.
func (f *found) choose(at [transient + 1]*unix.Statx_t) {
	switch f.verdict.Class {
	case route.Shared, route.ReadOnly:
		f.backend = host
		if at[host] == nil && at[held] != nil {
			f.backend, f.verdict.Class = held, route.Held
		}
	case route.StandIn:
		f.backend, f.st = nowhere, standIn(at[host])
		return
	case route.Held:
		f.backend = held
	case route.Transient:
		f.backend = transient
	default: // absent, or nothing we know
		return
	}
	f.st = at[f.backend]
}

// standIn is what is shown in place of a file of the host: nothing of it but that
// it is there.
func standIn(of *unix.Statx_t) *unix.Statx_t {
	if of == nil {
		return nil
	}
	const when = 315532800 // the first day of 1980: some tools complain about 1970
	st := &unix.Statx_t{Mode: unix.S_IFREG | 0o444, Nlink: 1, Ino: of.Ino, Blksize: 4096,
		Dev_major: of.Dev_major, Dev_minor: of.Dev_minor, Btime: of.Btime, Mask: statMask}
	st.Atime.Sec, st.Mtime.Sec, st.Ctime.Sec = when, when, when
	return st
}

// rules returns the router's view of a host directory.
func (v *view) rules(dir *node) (route.Directory, error) {
	if dir.root {
		if err := v.enter(dir); err != nil {
			return nil, err
		}
		return v.fs.config.Router.Root(), nil
	}
	now := v.fs.epoch()
	dir.dir.mu.Lock()
	rules, epoch := dir.dir.rules, dir.dir.epoch
	dir.dir.mu.Unlock()
	if rules != nil && epoch == now {
		return rules, nil
	}
	if err := v.enter(dir); err != nil {
		return nil, err
	}
	parent, name := v.table.above(dir)
	above, err := v.rules(parent)
	if err != nil {
		return nil, err
	}
	rules = v.fs.config.Router.Enter(above, name, v.verdict(dir), v.looker(dir))
	dir.dir.mu.Lock()
	dir.dir.rules, dir.dir.epoch = rules, now
	dir.dir.mu.Unlock()
	return rules, nil
}

// looker tells what the host has in dir. What cannot be looked at is not there.
func (v *view) looker(dir *node) route.Look {
	return func(name string) route.Kind {
		st, err := v.probe(dir, host, name)
		if err != nil || st == nil {
			return route.None
		}
		return kindOf(uint32(st.Mode))
	}
}

// enter tells that a host directory is about to be looked into, once.
func (v *view) enter(dir *node) error {
	s := dir.dir
	if s.entered.Load() || v.fs.config.OnDirectory == nil {
		return nil
	}
	d, err := v.base(dir, host)
	if err != nil {
		return err
	}
	defer d.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.entered.Load() { // only one caller asks; the others wait here, and look after it
		s.unwatched = v.fs.config.OnDirectory(v.handle(dir), v.table.pathOf(dir), d.fd) != nil
		s.entered.Store(true)
	}
	return nil
}
