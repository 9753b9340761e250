package changes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/changes"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// storage is a Domain Root with a journal.
type storage struct {
	root    string
	journal *journal.Journal
}

func newStorage(t *testing.T) *storage {
	t.Helper()
	s := &storage{root: t.TempDir(), journal: journal.New()}
	if err := os.Mkdir(filepath.Join(s.root, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// note records what the sandbox did, and writes the journal.
func (s *storage) note(t *testing.T, all ...journal.Change) {
	t.Helper()
	for _, c := range all {
		c.Time = time.Now()
		s.journal.Note(c)
	}
	data, err := s.journal.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.root, "workspace", "journal"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *storage) look(t *testing.T) (changes.Report, string) {
	t.Helper()
	r, err := changes.Look(context.Background(), s.root, changes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range r.Entries {
		paths = append(paths, e.Path)
	}
	return r, strings.Join(paths, " ")
}

func TestNewSinceLastLooked(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	if _, got := s.look(t); got != "" {
		t.Errorf("nothing was done: %q", got)
	}
	s.note(t,
		journal.Change{Path: "Makefile", Kind: journal.Created, Mark: route.Script},
		journal.Change{Path: "a", Kind: journal.Created},
		journal.Change{Path: "ci.yml", Kind: journal.Changed, Mark: route.Runs},
		journal.Change{Path: "b", Kind: journal.Changed},
		journal.Change{Path: "gone", Kind: journal.Created}, journal.Change{Path: "gone", Kind: journal.Removed},
		journal.Change{Path: ".gitignore", Kind: journal.Changed, Mark: route.Rules})
	r, got := s.look(t)
	if got != "ci.yml .gitignore Makefile b a" {
		t.Errorf("the order is %q", got)
	}
	s.note(t, journal.Change{Path: "late", Kind: journal.Created}) // after the look, before it is recorded
	if err := r.Seen(); err != nil {
		t.Fatal(err)
	}
	if _, got := s.look(t); got != "late" {
		t.Errorf("after looking: %q", got)
	}
	// A new journal hides nothing, nor does a record that is damaged.
	s.journal = journal.New()
	s.note(t, journal.Change{Path: "new", Kind: journal.Created})
	if _, got := s.look(t); got != "new" {
		t.Errorf("a new journal: %q", got)
	}
	if r, _ = s.look(t); r.Seen() != nil || os.WriteFile(filepath.Join(s.root, "looked"), []byte("x"), 0o600) != nil {
		t.Fatal("cannot be recorded")
	}
	if _, got := s.look(t); got != "new" {
		t.Errorf("a damaged record: %q", got)
	}
}

func TestDamagedJournalIsSaid(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	if err := os.WriteFile(filepath.Join(s.root, "workspace", "journal"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := changes.Look(context.Background(), s.root, changes.Options{}); err == nil {
		t.Error("a damaged journal was taken")
	}
}

func TestForgottenAreCounted(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	for i := range journal.MaxPaths + 7 {
		s.journal.Note(journal.Change{Path: fmt.Sprintf("d/%d", i), Kind: journal.Created, Time: time.Now()})
	}
	s.note(t)
	if r, _ := s.look(t); r.Forgotten != 7 {
		t.Errorf("%d are forgotten", r.Forgotten)
	}
}
