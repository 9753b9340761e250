package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/worktree"
)

// TestCrashesAreClearedUpByTheNextStart cuts a client off at every point, and starts
// another one.
func TestCrashesAreClearedUpByTheNextStart(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(*world, *worktree.Lease){
		"nothing done in it":        func(*world, *worktree.Lease) {},
		"made, not yet recorded so": func(w *world, l *worktree.Lease) { w.must(l.SetBack(false)) },
		"not checked out": func(w *world, l *worktree.Lease) {
			w.must(l.SetBack(false))
			w.must(os.Remove(filepath.Join(l.Path, "file")))
		},
		"no pointer": func(w *world, l *worktree.Lease) {
			w.must(l.SetBack(false))
			w.must(os.Remove(filepath.Join(l.Path, ".git")))
		},
		"no folder": func(w *world, l *worktree.Lease) {
			w.must(l.SetBack(false))
			w.must(os.RemoveAll(l.Path))
		},
		"no entry": func(w *world, l *worktree.Lease) {
			w.must(l.SetBack(false))
			w.must(os.RemoveAll(w.entry(l)))
			w.must(os.RemoveAll(l.Path))
		},
		"recorded only": func(w *world, l *worktree.Lease) {
			w.must(l.SetBack(false))
			w.must(os.RemoveAll(w.entry(l)))
			w.must(os.RemoveAll(l.Path))
			w.git(w.repo, "branch", "-D", l.Branch)
		},
		"half removed": func(w *world, l *worktree.Lease) {
			w.must(l.SetBack(true))
			w.must(os.Remove(filepath.Join(l.Path, "file")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.start("fix")
			crash(w, l)
			l.Crash()
			again := w.start("fix")
			if data, err := os.ReadFile(filepath.Join(again.Path, "file")); err != nil || string(data) != "one\n" {
				t.Errorf("%q, %v", data, err)
			}
			if out := w.settle(again); out.Ending != worktree.Removed || len(w.leftovers()) > 0 || len(w.notices) > 0 {
				t.Errorf("%+v, left %q, notices %q", out, w.leftovers(), w.notices)
			}
			w.git(w.repo, "fsck", "--no-dangling")
		})
	}
}

// TestWorkOfACrashedSessionIsKept, said once, and left to the developer's git.
func TestWorkOfACrashedSessionIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.start("fix")
	w.write(l.Path, "file", "two\n")
	l.Crash()
	for range 2 {
		w.settle(w.start(""))
	}
	if len(w.notices) != 1 || !strings.Contains(w.notices[0], "worktree fix of a session that was cut off is kept") {
		t.Errorf("notices: %q", w.notices)
	}
	if r := w.report("fix"); len(r.Changed) != 1 || r.Running {
		t.Errorf("%+v", r)
	}
	w.git(w.repo, "worktree", "move", l.Path, filepath.Join(w.dir, "elsewhere"))
}

// TestWhatRunsIsNotClearedUp: a client that lives, and a sandbox whose client was killed.
func TestWhatRunsIsNotClearedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alive, orphan := w.start("alive"), w.start("orphan")
	lock, ok, err := root.TryLock(root.LockPath(w.domainRoot(orphan)))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lock.Close()
	orphan.Crash()
	w.settle(w.start(""))
	for _, l := range []*worktree.Lease{alive, orphan} {
		if _, err := os.Stat(filepath.Join(l.Path, "file")); err != nil {
			t.Error(err)
		}
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
