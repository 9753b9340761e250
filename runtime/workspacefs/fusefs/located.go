package fusefs

import (
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// located is a node's file where it is now, open as a place, and what is decided about
// that name.
type located struct {
	*descriptor
	path    string
	verdict route.Verdict
}

// changeable is what precedes every change of a file or directory itself: by the
// rules in force the sandbox may change it, it is found where they were asked about,
// and it has no name that nobody knows. The caller releases what it returns, and holds
// FS.tree.
func (v *view) changeable(n *node, a act) (*located, error) {
	verdict, err := v.current(n)
	if err != nil {
		return nil, err
	}
	if n.virtual() {
		return nil, unix.EROFS
	}
	if errno := guard(a, verdict); errno != 0 {
		return nil, errno
	}
	at, err := v.locate(n)
	if err != nil {
		return nil, err
	}
	st, err := stat(at.fd)
	if err == nil {
		err = refusal(guard(a, at.verdict))
	}
	if err == nil {
		err = refusal(v.fs.guardLinks(n, st, v.table.removed(n)))
	}
	if err != nil {
		at.release()
		return nil, err
	}
	return at, nil
}

// locate opens a node as a place by its whole path below its backend's root, and
// judges it by the name it has there: another of its names may be decided about
// otherwise. What the sandbox has removed is where its descriptor is. The caller holds
// FS.tree and releases what is returned.
func (v *view) locate(n *node) (*located, error) {
	if v.table.removed(n) {
		if d := v.fs.pool.take(&n.path); d != nil {
			return &located{d, v.table.pathOf(n), v.verdict(n)}, nil
		}
		return nil, unix.ESTALE
	}
	err := error(unix.ESTALE)
	for _, name := range v.table.names(n) {
		var fd int
		if fd, err = beneath(v.fs.roots[n.key.backend], name.path, 0); err != nil {
			err = stale(err)
			continue
		}
		if fd, err = v.same(n, fd); err != nil {
			continue
		}
		var verdict route.Verdict
		if verdict, err = v.judged(n, name); err == nil {
			return &located{v.fs.pool.lone(fd), name.path, verdict}, nil
		}
		unix.Close(fd)
	}
	return nil, err
}

// judged returns the decision about one of a node's names.
func (v *view) judged(n *node, name known) (route.Verdict, error) {
	if name.first && name.epoch == v.fs.epoch() || n.root {
		return name.verdict, nil
	}
	f, err := v.find(name.parent, name.name)
	if err != nil {
		return route.Verdict{}, err
	}
	if f.st == nil || f.key().identity != n.key.identity || f.backend != n.key.backend {
		return route.Verdict{}, unix.ESTALE
	}
	return f.verdict, nil
}

// known is one of the names of a node.
type known struct {
	alias
	path    string
	first   bool // the one the node's verdict is about
	verdict route.Verdict
	epoch   uint64
}

// names returns a node's known names, the one it was last found under first.
func (t *table) names(n *node) []known {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := []known{{alias{n.parent, n.name}, n.locate(), true, n.verdict, n.epoch}}
	for _, a := range n.aliases {
		names = append(names, known{alias: a, path: under(a.parent.locate(), a.name)})
	}
	return names
}
