package fusefs

import (
	"strings"
	"sync"
)

// Changed says that the content or the attributes of path have changed by somebody
// else's doing. It returns when the kernel knows. It must not be called by Events.
func (fs *FS) Changed(path string) {
	for _, v := range fs.views {
		if n := v.known(path); n != nil {
			v.dropInode(n.id)
		}
	}
}

// EntryChanged says that what name stands for in the directory parent has changed by
// somebody else's doing. It returns when the kernel knows. It must not be called by
// Events.
func (fs *FS) EntryChanged(parent, name string) {
	for _, v := range fs.views {
		if dir := v.known(parent); dir != nil {
			v.changed(dir, name)
		}
	}
}

// HandleChanged is EntryChanged and Changed for a name, "" for the directory itself,
// in a directory that Config.OnDirectory was told of.
func (fs *FS) HandleChanged(handle uint64, name string) {
	v := fs.views[handle>>63]
	dir := v.table.get(handle &^ (1 << 63))
	if dir == nil {
		return
	}
	if name == "" {
		v.dropInode(dir.id)
		return
	}
	if n := v.table.at(dir, name); n != nil {
		v.dropInode(n.id)
	}
	v.changed(dir, name)
}

// HandlePath returns the path of a directory that Config.OnDirectory was told of. ok is
// false when it is forgotten.
func (fs *FS) HandlePath(handle uint64) (path string, ok bool) {
	v := fs.views[handle>>63]
	if dir := v.table.get(handle &^ (1 << 63)); dir != nil {
		return v.table.pathOf(dir), true
	}
	return "", false
}

// InvalidateAll says that anything may have changed, or that the rules have. It returns
// when the kernel knows. It must not be called by Events.
func (fs *FS) InvalidateAll() {
	for _, v := range fs.views {
		v.invalidateAll()
	}
}

func (v *view) changed(dir *node, name string) {
	v.finished(dir)
	v.dropInode(dir.id)
	v.dropEntry(dir.id, name)
}

// known returns the node at a path, nil when the kernel has not asked for it.
func (v *view) known(path string) *node {
	n := v.workspace
	if path == "" {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		if n = v.table.at(n, name); n == nil {
			return nil
		}
	}
	return n
}

func (v *view) invalidateAll() {
	for _, a := range v.absences.all() {
		v.dropEntry(a.dir, a.name)
	}
	for _, k := range v.table.everything() {
		if k.dir != 0 {
			v.dropEntry(k.dir, k.name)
		}
		v.dropInode(k.id)
	}
}

// knowledge is one name of one node.
type knowledge struct {
	place
	id uint64
}

// everything lists all the kernel knows.
func (t *table) everything() []knowledge {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]knowledge, 0, len(t.byID)+len(t.byPlace))
	for p, n := range t.byPlace {
		list = append(list, knowledge{p, n.id})
	}
	for _, n := range t.byID {
		if n.root {
			list = append(list, knowledge{id: n.id})
		}
	}
	return list
}

// maxAbsences bounds the absent names the kernel may keep. For one more it is told to
// forget the oldest.
const maxAbsences = 1 << 15

// absences are the names the kernel keeps as absent. They have no node.
type absences struct {
	mu    sync.Mutex
	known map[place]struct{}
	order []place // a ring once it is full
	next  int
}

// absent notes that the kernel was told of an absence.
func (v *view) absent(dir *node, name string) {
	if old, full := v.absences.add(place{dir.id, name}); full {
		v.notifier.entry(old)
	}
}

func (a *absences) add(p place) (old place, full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = map[place]struct{}{}
	}
	if _, known := a.known[p]; known {
		return old, false
	}
	a.known[p] = struct{}{}
	if len(a.order) < maxAbsences {
		a.order = append(a.order, p)
		return old, false
	}
	old, a.order[a.next] = a.order[a.next], p
	a.next = (a.next + 1) % maxAbsences
	delete(a.known, old)
	return old, true
}

func (a *absences) all() []place {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]place(nil), a.order...)
}
