package fusefs

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func file(inode uint64) *found {
	return &found{st: &unix.Statx_t{Mode: unix.S_IFREG, Ino: inode}, backend: host, verdict: route.Verdict{Class: route.Shared}}
}

func directory(inode uint64) *found {
	return &found{st: &unix.Statx_t{Mode: unix.S_IFDIR, Ino: inode}, backend: host, verdict: route.Verdict{Class: route.Shared}}
}

// check fails unless everything is forgotten.
func (t *table) check(tb testing.TB, root *node) {
	tb.Helper()
	if len(t.byID) != 1 || len(t.byKey) != 0 || len(t.byPlace) != 0 || root.children != 0 {
		tb.Errorf("left: %d nodes, %d keys, %d places, %d children", len(t.byID), len(t.byKey), len(t.byPlace), root.children)
	}
}

func newTestTable() (*table, *node) {
	t := newTable(newPool(16), newPool(16))
	return &t, t.root(key{backend: host}, route.Verdict{})
}

func TestNodesLiveAsLongAsTheyAreKnown(t *testing.T) {
	t.Parallel()
	table, root := newTestTable()
	d := table.look(root, "d", directory(10))
	f := table.look(d, "f", file(11))
	if table.look(d, "f", file(11)) != f || f.lookups != 2 {
		t.Error("the same file is another node")
	}
	table.forget(d.id, 1) // its child is known
	if table.get(d.id) != d || table.pathOf(f) != "d/f" {
		t.Error("a directory went before what is in it")
	}
	table.forget(f.id, 1)
	if table.get(f.id) != f {
		t.Error("went with one lookup left")
	}
	table.forget(f.id, 1)
	table.forget(f.id, 1) // once too often
	table.check(t, root)
}

func TestOtherFilesAreOtherNodes(t *testing.T) {
	t.Parallel()
	table, root := newTestTable()
	a := table.look(root, "a", file(1))
	replaced := table.look(root, "a", file(2))
	if a == replaced || table.at(root, "a") != replaced {
		t.Error("a replaced file kept its node")
	}
	later := file(1)
	later.st.Btime.Nsec = 5
	if table.look(root, "b", later) == a {
		t.Error("a later file with the same inode number is the same node")
	}
	hidden := file(1)
	hidden.verdict.Class = route.StandIn
	if table.look(root, "c", hidden) == a {
		t.Error("a file of another class is the same node")
	}
	// A directory is its place: the rules for it depend on where it is.
	d := table.look(root, "d", directory(9))
	if table.look(root, "e", directory(9)) == d {
		t.Error("a directory in two places is one node")
	}
	for id := range uint64(10) {
		table.forget(id, 9)
	}
	table.check(t, root)
}

func TestNamesOfOneFile(t *testing.T) {
	t.Parallel()
	table, root := newTestTable()
	d := table.look(root, "d", directory(9))
	a := table.look(root, "a", file(1))
	for _, name := range []string{"b", "c"} {
		if table.look(d, name, file(1)) != a {
			t.Fatal("a link is another node")
		}
	}
	// The name it was found under last comes first: it is surely there.
	if got := pathsOf(table, a); got[0] != "d/c" || !slices.Equal(slices.Sorted(slices.Values(got)), []string{"a", "d/b", "d/c"}) {
		t.Errorf("paths %q", got)
	}
	table.remove(root, "a")
	if table.removed(a) || !slices.Contains(pathsOf(table, a), "d/b") {
		t.Errorf("after one removal: paths %q", pathsOf(table, a))
	}
	table.move(at(d, "b"), at(root, "moved"))
	table.exchange(at(root, "moved"), at(d, "c")) // one file's names: all stays
	if got := pathsOf(table, a); !slices.Contains(got, "moved") || !slices.Contains(got, "d/c") {
		t.Errorf("paths %q", got)
	}
	table.remove(d, "c")
	table.remove(root, "moved")
	if !table.removed(a) {
		t.Error("without names, and not removed")
	}
	table.forget(a.id, 3)
	table.forget(d.id, 1)
	table.check(t, root)
}

func at(dir *node, name string) *end { return &end{dir: dir, name: name, f: &found{}} }

func pathsOf(t *table, n *node) (paths []string) {
	for _, name := range t.names(n) {
		paths = append(paths, name.path)
	}
	return paths
}

func TestMoves(t *testing.T) {
	t.Parallel()
	table, root := newTestTable()
	d := table.look(root, "d", directory(9))
	e := table.look(root, "e", directory(8))
	f := table.look(d, "f", file(1))
	table.move(at(root, "d"), at(e, "d2"))
	if table.pathOf(f) != "e/d2/f" || table.at(root, "d") != nil {
		t.Errorf("path %q", table.pathOf(f))
	}
	g := table.look(root, "g", file(2))
	table.exchange(at(e, "d2"), at(root, "g"))
	if table.pathOf(f) != "g/f" || table.pathOf(g) != "e/d2" {
		t.Errorf("paths %q, %q", table.pathOf(f), table.pathOf(g))
	}
	table.move(at(root, "unknown"), at(e, "x"))
	for _, n := range []*node{f, g, d, e} {
		table.forget(n.id, 1)
	}
	table.check(t, root)
}

func TestAbsencesAreBounded(t *testing.T) {
	t.Parallel()
	var a absences
	for i := range uint64(maxAbsences) {
		if _, full := a.add(place{i, "x"}); full {
			t.Fatalf("full after %d", i)
		}
	}
	if _, full := a.add(place{5, "x"}); full {
		t.Error("a known absence counted twice")
	}
	for i := range uint64(3) {
		if old, full := a.add(place{i, "y"}); !full || old != (place{i, "x"}) {
			t.Errorf("left %v, %v", old, full)
		}
	}
	if len(a.all()) != maxAbsences {
		t.Errorf("%d", len(a.all()))
	}
}
