package fusefs

import (
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// backend is the tree a node's file is in.
type backend uint8

const (
	host      backend = 1
	held      backend = 2
	transient backend = 3
	nowhere   backend = 4 // a stand-in, or the git view's own root
)

// identity tells one file from every other, also from a later one that got its
// inode number.
type identity struct {
	device, inode uint64
	birth         int64 // nanoseconds; 0 where the file system does not say
}

func identify(st *unix.Statx_t) identity {
	return identity{device(st), st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}
}

// key is what makes two names one node.
type key struct {
	identity
	backend backend
	class   route.Class
}

// place is a name in a directory.
type place struct {
	dir  uint64
	name string
}

// node is a file the kernel knows. What is below mu's line is guarded by table.mu.
type node struct {
	id   uint64
	key  key
	kind uint32 // the type bits of its mode

	// path is an O_PATH descriptor of a directory, or of a file that has lost its
	// name; reading and writing are open files.
	path, reading, writing slot

	dir  *dirState // of a directory
	root bool      // it has no parent

	parent   *node
	name     string
	aliases  []alias
	unlinked bool // the sandbox removed its last name
	verdict  route.Verdict
	epoch    uint64 // when verdict was given
	lookups  uint64
	children int // nodes whose parent this is
}

// alias is another name of a file.
type alias struct {
	parent *node
	name   string
}

// dirState is what is remembered of a directory while the kernel knows it.
type dirState struct {
	mu        sync.Mutex
	entered   atomic.Bool // host directories: OnDirectory was called
	unwatched bool
	rules     route.Directory
	epoch     uint64
	mirrors   [transient + 1]mirror
	listing   *listing
}

// mirror is what stands for a host directory in another backend.
type mirror struct {
	slot    slot
	version uint64 // FS.mirrors+1 when last looked for; 0 is never
	absent  bool
}

func (n *node) isDir() bool { return n.kind == unix.S_IFDIR }

// table holds the nodes of one view.
type table struct {
	mu      sync.Mutex
	byID    map[uint64]*node
	byKey   map[key]*node // files only: a directory is its place
	byPlace map[place]*node
	next    uint64
	pool    *pool
	gone    []gone // to be told of
}

// gone is a directory nobody knows any more.
type gone struct {
	id uint64
	d  *descriptor // nil when it is closed
}

func newTable(p *pool) table {
	return table{pool: p, byID: map[uint64]*node{}, byKey: map[key]*node{}, byPlace: map[place]*node{}, next: fuse.FUSE_ROOT_ID}
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
	n.verdict, n.epoch = f.verdict, f.epoch
	n.lookups++
	return n
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
	t.pool.drop(&n.path, &n.reading, &n.writing)
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
func (t *table) move(from *node, name string, to *node, newName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := place{from.id, name}
	n := t.byPlace[p]
	if n == nil {
		return
	}
	delete(t.byPlace, p)
	t.byPlace[place{to.id, newName}] = n
	t.resettle(n, from, name, to, newName)
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

func (n *node) locate() string {
	size := 0
	for m := n; !m.root; m = m.parent {
		size += len(m.name) + 1
	}
	if size == 0 {
		return ""
	}
	path := make([]byte, size-1)
	end := size - 1
	for m := n; !m.root; m = m.parent {
		end -= len(m.name)
		copy(path[end:], m.name)
		if end > 0 {
			end--
			path[end] = '/'
		}
	}
	return string(path)
}

func under(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// above returns a node's directory and its name there.
func (t *table) above(n *node) (*node, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.parent, n.name
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

// paths returns the paths of all of a node's known names.
func (t *table) paths(n *node) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	paths := []string{n.locate()}
	for _, a := range n.aliases {
		paths = append(paths, under(a.parent.locate(), a.name))
	}
	return paths
}

// exchange follows an exchange of two names by the sandbox.
func (t *table) exchange(dir *node, name string, other *node, otherName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, q := place{dir.id, name}, place{other.id, otherName}
	a, b := t.byPlace[p], t.byPlace[q]
	t.resettle(a, dir, name, other, otherName)
	t.resettle(b, other, otherName, dir, name)
	t.byPlace[p], t.byPlace[q] = b, a
	for _, p := range []place{p, q} {
		if t.byPlace[p] == nil {
			delete(t.byPlace, p)
		}
	}
}

// resettle gives a node one name in place of another. The lock is held.
func (t *table) resettle(n *node, from *node, name string, to *node, newName string) {
	if n == nil {
		return
	}
	to.children++
	if n.parent == from && n.name == name {
		n.parent, n.name = to, newName
	} else {
		for i, a := range n.aliases {
			if a.parent == from && a.name == name {
				n.aliases[i] = alias{to, newName}
			}
		}
	}
	t.leave(from)
}
