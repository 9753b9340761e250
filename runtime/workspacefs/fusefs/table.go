package fusefs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// table holds the nodes of one view.
type table struct {
	mu      sync.Mutex
	byID    map[uint64]*node
	byKey   map[key]*node // files only: a directory is its place
	byPlace map[place]*node
	next    uint64
	pool    *pool  // of node.path and mirrors
	files   *pool  // of node.reading and node.writing
	gone    []gone // to be told of
}

// gone is a directory nobody knows any more.
type gone struct {
	id uint64
	d  *descriptor // nil when it is closed
}

func newTable(places, files *pool) table {
	return table{pool: places, files: files, byID: map[uint64]*node{}, byKey: map[key]*node{}, byPlace: map[place]*node{}, next: fuse.FUSE_ROOT_ID}
}

// root makes a node without a parent. It is never forgotten.
func (t *table) root(k key, verdict route.Verdict) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &node{id: t.next, key: k, kind: unix.S_IFDIR, dir: &dirState{}, root: true, verdict: verdict, lookups: 1}
	t.next++
	t.byID[n.id] = n
	return n
}

// get returns a node by the kernel's number for it, nil when there is none.
func (t *table) get(id uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// at returns the node at a place, nil when the kernel knows none.
func (t *table) at(dir *node, name string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byPlace[place{dir.id, name}]
}

// look returns the node for what was found in dir, known or new, and counts one
// lookup of the kernel's.
func (t *table) look(dir *node, name string, f *found) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, k := place{dir.id, name}, f.key()
	n := t.byPlace[p]
	switch {
	case n != nil && n.key == k:
	case f.isDir():
		t.displace(n, p)
		n = t.add(dir, name, k, f)
	default:
		t.displace(n, p)
		if n = t.byKey[k]; n == nil {
			n = t.add(dir, name, k, f)
			t.byKey[k] = n
			break
		}
		t.rename(n, dir, name)
	}
	t.prefer(n, dir, name)
	n.verdict, n.epoch = f.verdict, f.epoch
	n.lookups++
	return n
}

// prefer makes the name a file was just found under the one it is opened by: others
// may be gone since, when the host moved the file. The lock is held.
func (t *table) prefer(n *node, dir *node, name string) {
	for i, a := range n.aliases {
		if a.parent == dir && a.name == name {
			n.aliases[i] = alias{n.parent, n.name}
			n.parent, n.name = dir, name
			return
		}
	}
}

func (t *table) add(dir *node, name string, k key, f *found) *node {
	n := &node{id: t.next, key: k, kind: uint32(f.st.Mode) & unix.S_IFMT, parent: dir, name: name}
	if n.isDir() {
		n.dir = &dirState{}
	}
	t.next++
	t.byID[n.id] = n
	t.byPlace[place{dir.id, name}] = n
	dir.children++
	return n
}

// rename gives a known file one more name. The lock is held.
func (t *table) rename(n *node, dir *node, name string) {
	known := t.byPlace[place{n.parent.id, n.name}] == n
	t.byPlace[place{dir.id, name}] = n
	dir.children++
	n.unlinked = false
	if known {
		n.aliases = append(n.aliases, alias{dir, name})
		return
	}
	old := n.parent
	n.parent, n.name = dir, name
	t.leave(old)
}

// displace takes a place from the node that was known there. The lock is held.
func (t *table) displace(n *node, p place) {
	if n == nil {
		return
	}
	delete(t.byPlace, p)
	for i, a := range n.aliases {
		if a.parent.id == p.dir && a.name == p.name {
			n.aliases = append(n.aliases[:i], n.aliases[i+1:]...)
			t.leave(a.parent)
			return
		}
	}
	if len(n.aliases) > 0 {
		t.leave(n.parent)
		last := n.aliases[len(n.aliases)-1]
		n.parent, n.name, n.aliases = last.parent, last.name, n.aliases[:len(n.aliases)-1]
	}
	// Otherwise its last name stays as where it was, for messages and paths.
}

// leave says that a node is no longer a child of dir. The lock is held.
func (t *table) leave(dir *node) {
	dir.children--
	t.reap(dir)
}

// forget takes back lookups, and returns the directories that have gone since.
func (t *table) forget(id, lookups uint64) []gone {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.byID[id]; n != nil && !n.root {
		n.lookups -= min(lookups, n.lookups)
		t.reap(n)
	}
	gone := t.gone
	t.gone = nil
	return gone
}

// reap removes n, and then its parents, if nobody knows them any more. The lock is
// held.
func (t *table) reap(n *node) {
	if n.lookups > 0 || n.children > 0 || n.root || t.byID[n.id] != n {
		return
	}
	delete(t.byID, n.id)
	if t.byKey[n.key] == n {
		delete(t.byKey, n.key)
	}
	if n.dir != nil {
		if n.dir.entered.Load() {
			t.gone = append(t.gone, gone{n.id, t.pool.take(&n.path)})
		}
		t.pool.drop(&n.dir.mirrors[held].slot, &n.dir.mirrors[transient].slot)
	}
	t.pool.drop(&n.path)
	t.files.drop(&n.reading, &n.writing)
	for _, a := range append(n.aliases, alias{n.parent, n.name}) {
		if p := (place{a.parent.id, a.name}); t.byPlace[p] == n {
			delete(t.byPlace, p)
		}
		t.leave(a.parent)
	}
}

// remove takes a name the sandbox has removed from the node known there, and returns
// the node, nil for none.
func (t *table) remove(dir *node, name string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := place{dir.id, name}
	n := t.byPlace[p]
	t.displace(n, p)
	if n != nil && t.byPlace[place{n.parent.id, n.name}] != n {
		n.unlinked = true
	}
	return n
}

// move follows a rename of the sandbox's.
func (t *table) move(from, to *end) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := place{from.dir.id, from.name}
	n := t.byPlace[p]
	if n == nil {
		return
	}
	delete(t.byPlace, p)
	t.byPlace[place{to.dir.id, to.name}] = n
	t.resettle(n, from, to)
}

// pathOf returns a node's path in the workspace.
func (t *table) pathOf(n *node) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.locate()
}

// join returns the path of a name in dir.
func (t *table) join(dir *node, name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return under(dir.locate(), name)
}

// again counts one more lookup.
func (t *table) again(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.lookups++
}

// removed says that the sandbox has removed a node's last name.
func (t *table) removed(n *node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.unlinked
}

// exchange follows an exchange of two names by the sandbox.
func (t *table) exchange(one, two *end) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, q := place{one.dir.id, one.name}, place{two.dir.id, two.name}
	a, b := t.byPlace[p], t.byPlace[q]
	t.resettle(a, one, two)
	t.resettle(b, two, one)
	t.byPlace[p], t.byPlace[q] = b, a
	for _, p := range []place{p, q} {
		if t.byPlace[p] == nil {
			delete(t.byPlace, p)
		}
	}
}

// resettle gives a node one name in place of another, with what is decided about the
// new one. The lock is held.
func (t *table) resettle(n *node, from, to *end) {
	if n == nil {
		return
	}
	to.dir.children++
	if n.parent == from.dir && n.name == from.name {
		n.parent, n.name = to.dir, to.name
		n.verdict, n.epoch = to.becomes, to.f.epoch
	} else {
		for i, a := range n.aliases {
			if a.parent == from.dir && a.name == from.name {
				n.aliases[i] = alias{to.dir, to.name}
			}
		}
	}
	t.leave(from.dir)
}

// stamp notes what the kernel is told of a file, and reports whether it was told
// something else before and the sandbox has not changed it since.
func (t *table) stamp(n *node, st *unix.Statx_t) bool {
	stamp := uint64(st.Mtime.Sec*1e9+int64(st.Mtime.Nsec))*31 + st.Size | 1
	t.mu.Lock()
	defer t.mu.Unlock()
	other := n.seen != 0 && n.seen != stamp
	n.seen = stamp
	return other
}

// touch notes that the sandbox has changed a file.
func (t *table) touch(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.seen = 0
}
