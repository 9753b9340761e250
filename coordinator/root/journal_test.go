package root_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// TestJournal: none is an empty one; what is not a file of its own is refused.
func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if j, err := root.Journal(dir); err != nil || len(j.Changes(journal.Point{}, "")) != 0 {
		t.Errorf("no Domain storage: %v", err)
	}
	store := filepath.Join(dir, "workspace")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	j := journal.New()
	j.Note(journal.Change{Path: "Makefile", Kind: journal.Created, Time: time.Now()})
	data, err := j.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	for _, name := range []string{filepath.Join(store, "journal"), elsewhere} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := root.Journal(dir)
	if err != nil || len(got.Changes(journal.Point{}, "")) != 1 {
		t.Errorf("written: %v", err)
	}
	if err := os.Remove(filepath.Join(store, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(store, "journal")); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Journal(dir); err == nil {
		t.Error("a link was followed")
	}
}
