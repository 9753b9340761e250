package fusefs

import (
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// base returns a descriptor of what dir is in backend b: the directory itself, or
// its mirror. It returns nil when there is no mirror. The caller releases it.
// Errors are the kernel's, and ESTALE when the directory is not where it was.
func (v *view) base(dir *node, b backend) (*descriptor, error) {
	if dir.key.backend == b {
		return v.itself(dir)
	}
	if dir.key.backend != host || b != held && b != transient {
		return nil, nil
	}
	return v.mirror(dir, b)
}

// itself returns an O_PATH descriptor of a directory.
func (v *view) itself(dir *node) (*descriptor, error) {
	if d := v.fs.pool.take(&dir.path); d != nil {
		return d, nil
	}
	var fd int
	var err error
	if dir.root {
		fd, err = openPath(v.fs.roots[host], ".", unix.O_DIRECTORY)
	} else {
		fd, err = v.open(dir, unix.O_DIRECTORY)
	}
	if err != nil {
		return nil, err
	}
	return v.fs.pool.keep(&dir.path, fd), nil
}

// open opens what a node was found as, by its name in its directory, as a place.
// It fails with ESTALE when something else is there now.
func (v *view) open(n *node, flags int) (int, error) {
	parent, name := v.table.above(n)
	d, err := v.base(parent, n.key.backend)
	if err != nil {
		return -1, err
	}
	if d == nil {
		return -1, unix.ESTALE
	}
	defer d.release()
	fd, err := openPath(d.fd, name, flags)
	if err != nil {
		return -1, stale(err)
	}
	return v.same(n, fd)
}

// same returns fd if it is the node's file, and otherwise closes it.
func (v *view) same(n *node, fd int) (int, error) {
	st, err := stat(fd)
	if err == nil && identify(st) != n.key.identity {
		err = unix.ESTALE
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// stale is the error for a file that is not where it was: the kernel then asks for
// its name again.
func stale(err error) error {
	if is(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP) {
		return unix.ESTALE
	}
	return err
}

// mirror returns a descriptor of a host directory's mirror, nil when it has none.
func (v *view) mirror(dir *node, b backend) (*descriptor, error) {
	m := &dir.dir.mirrors[b]
	version := v.fs.mirrors.Load() + 1
	dir.dir.mu.Lock()
	current, absent := m.version == version, m.absent
	if !current {
		v.fs.pool.drop(&m.slot)
	}
	dir.dir.mu.Unlock()
	if current && absent {
		return nil, nil
	}
	if d := v.fs.pool.take(&m.slot); d != nil {
		return d, nil
	}
	fd, err := beneath(v.fs.roots[b], v.table.pathOf(dir), unix.O_DIRECTORY)
	absent = is(err, unix.ENOENT, unix.ENOTDIR, unix.ESTALE)
	if err != nil && !absent {
		return nil, err
	}
	dir.dir.mu.Lock()
	defer dir.dir.mu.Unlock()
	m.version, m.absent = version, absent
	if absent {
		return nil, nil
	}
	return v.fs.pool.keep(&m.slot, fd), nil
}

// verified opens dir, or its mirror in b, by its whole path, for changing something
// in it: what is opened is where the decision was made for. The caller holds
// FS.tree and closes the descriptor. ESTALE says that dir is elsewhere now.
func (v *view) verified(dir *node, b backend) (int, error) {
	fd, err := beneath(v.fs.roots[b], v.table.pathOf(dir), unix.O_DIRECTORY)
	if err != nil {
		return -1, stale(err)
	}
	if dir.key.backend != b || dir.root {
		return fd, nil
	}
	return v.same(dir, fd)
}

// made is verified, with the mirror made if there is none: with the permissions of
// the host's directories, as far as this process can still use it.
func (v *view) made(dir *node, b backend) (int, error) {
	fd, err := v.verified(dir, b)
	if dir.key.backend == b || !is(err, unix.ESTALE) {
		return fd, err
	}
	if dir.root {
		return -1, err
	}
	own, err := v.verified(dir, host)
	if err != nil {
		return -1, err
	}
	defer unix.Close(own)
	st, err := stat(own)
	if err != nil {
		return -1, err
	}
	parent, name := v.table.above(dir)
	above, err := v.made(parent, b)
	if err != nil {
		return -1, err
	}
	defer unix.Close(above)
	err = unix.Mkdirat(above, name, uint32(st.Mode)&0o777|0o700)
	if err != nil && !is(err, unix.EEXIST) {
		return -1, err
	}
	v.fs.mirrors.Add(1)
	return v.verified(dir, b)
}

// verdict returns the decision about a node by the rules in force.
func (v *view) verdict(n *node) route.Verdict {
	v.table.mu.Lock()
	defer v.table.mu.Unlock()
	return n.verdict
}

// current returns the decision about a node by the rules in force now. It fails
// with ESTALE when by them the node's name stands for something else.
func (v *view) current(n *node) (route.Verdict, error) {
	now := v.fs.epoch()
	v.table.mu.Lock()
	verdict, epoch, parent, name, unlinked := n.verdict, n.epoch, n.parent, n.name, n.unlinked
	v.table.mu.Unlock()
	if epoch == now || n.root || unlinked {
		return verdict, nil
	}
	if _, err := v.current(parent); err != nil {
		return verdict, err
	}
	f, err := v.find(parent, name)
	if err != nil {
		return verdict, err
	}
	if f.st == nil || f.key().identity != n.key.identity || f.backend != n.key.backend {
		return verdict, unix.ESTALE
	}
	v.table.mu.Lock()
	n.verdict, n.epoch = f.verdict, f.epoch
	v.table.mu.Unlock()
	return f.verdict, nil
}
