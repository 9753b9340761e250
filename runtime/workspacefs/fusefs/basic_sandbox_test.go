//go:build sandbox

package fusefs_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadWriteListRename(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/src/a.go", "package a")
	same(t, w.tree+"/src/a.go", "package a")

	put(t, w.tree+"/new/dir/file", "hello")
	same(t, w.host+"/new/dir/file", "hello")
	same(t, w.tree+"/new/dir/file", "hello")

	must(t, os.Rename(w.tree+"/new/dir/file", w.tree+"/src/b.go"))
	same(t, w.host+"/src/b.go", "hello")
	entries, err := os.ReadDir(w.tree + "/src")
	must(t, err)
	if len(entries) != 2 || entries[0].Name() != "a.go" || entries[1].Name() != "b.go" {
		t.Errorf("listed %v", entries)
	}
	must(t, os.Rename(w.tree+"/new/dir", w.tree+"/moved"))
	must(t, os.Remove(w.tree+"/moved"))
	must(t, os.RemoveAll(w.tree+"/src"))
	if _, err := os.Stat(w.host + "/src"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestHeldLivesInDomainStorage(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/src/held.host/x", "the host's")
	put(t, w.tree+"/src/held.host/y", "inside")
	same(t, w.held+"/src/held.host/y", "inside")
	if _, err := os.Stat(w.tree + "/src/held.host/x"); !os.IsNotExist(err) {
		t.Errorf("the host's: %v", err)
	}
	if _, err := os.Stat(w.host + "/src/held.host/y"); !os.IsNotExist(err) {
		t.Errorf("on the host: %v", err)
	}
	entries, err := os.ReadDir(w.tree + "/src")
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "held.host" {
		t.Errorf("listed %v", entries)
	}
}

func TestGitViewRefusesAtOpen(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/.git/config", "[core]")
	put(t, w.host+"/.git/HEAD", "ref: refs/heads/main")
	id, err := w.fs.AddGitDir(".git")
	must(t, err)
	if id != 0 {
		t.Errorf("number %d", id)
	}
	w.mountGit(t)
	same(t, w.git+"/0/config", "[core]")
	refused(t, write(w.git+"/0/config", 0), unix.EROFS)
	put(t, w.git+"/0/HEAD", "ref: refs/heads/other")
	same(t, w.host+"/.git/HEAD", "ref: refs/heads/other")
}
