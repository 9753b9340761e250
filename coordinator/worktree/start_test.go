package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/fault"
)

func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, bad := range []string{"two words", "../up", "a/b", ".hidden", "-n", "a..b", "dot.", "x.lock", "x.LOCK", "é", "a\n", "~", strings.Repeat("x", 41)} {
		_, err := w.keeper.Start(t.Context(), "shell", bad, w.notice)
		refused(t, err, fault.Usage, "cannot be the name")
	}
	for _, good := range []string{"fix", "FIX-2", "a.b_c", strings.Repeat("x", 40)} {
		w.settle(w.start(good))
	}
}

// TestTakenNames: a name that was asked for is refused when it is taken; a number that is
// taken is left out.
func TestTakenNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := w.start("1")
	w.commit(kept.Path)
	w.settle(kept)
	w.git(w.repo, "branch", "lazaret/agent-2")
	w.write(w.keeper.Path("3"), "file", "somebody's")
	held := w.start("4")
	store := filepath.Join(w.domainRoot(held), "workspace")
	w.settle(held)
	w.write(store, "held/x", "left by another user of the sandbox")
	for name, why := range map[string]string{"1": "such a worktree", "2": "a branch", "3": "a folder", "4": "Domain storage"} {
		_, err := w.keeper.Start(t.Context(), "shell", name, w.notice)
		refused(t, err, fault.Usage, why)
	}
	if l := w.start(""); l.Name != "5" {
		t.Errorf("numbered %s", l.Name)
	}
	if data, err := os.ReadFile(filepath.Join(w.keeper.Path("3"), "file")); err != nil || string(data) != "somebody's" {
		t.Errorf("the folder: %q, %v", data, err)
	}
}

func TestManyAtOnceAreNumbered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 6
	leases := make([]*worktree.Lease, many)
	var group sync.WaitGroup
	for i := range leases {
		group.Go(func() {
			l, err := w.keeper.Start(t.Context(), "shell", "", w.notice)
			if err != nil {
				t.Error(err)
				return
			}
			leases[i] = l
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	seen := map[string]bool{}
	for _, l := range leases {
		seen[l.Name] = true
	}
	for _, l := range leases {
		group.Go(func() {
			if out := l.Settle(t.Context()); out.Err != nil || out.Ending != worktree.Removed {
				t.Errorf("%+v", out)
			}
		})
	}
	group.Wait()
	if len(seen) != many || len(w.leftovers()) > 0 {
		t.Errorf("names %v, left %q", seen, w.leftovers())
	}
}

func TestNoRepositoryToStartFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.repo, "sub/x", "")
	for _, at := range []string{w.dir, filepath.Join(w.repo, "sub")} {
		k := w.keeper
		k.Workspace = at
		_, err := k.Start(t.Context(), "shell", "", w.notice)
		refused(t, err, fault.Workspace, "no worktree can be made")
	}
	empty := filepath.Join(w.dir, "empty")
	w.write(empty, "x", "")
	w.git(empty, "init", "-q")
	k := w.keeper
	k.Workspace = empty
	_, err := k.Start(t.Context(), "shell", "", w.notice)
	refused(t, err, fault.Workspace, "no commit")
}

// TestFailureLeavesNothing: a branch stands in the way of git, though not of the name.
func TestFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git(w.repo, "branch", "lazaret")
	_, err := w.keeper.Start(t.Context(), "shell", "fix", w.notice)
	refused(t, err, fault.Workspace, "could not be made")
	w.git(w.repo, "branch", "-d", "lazaret")
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	w.settle(w.start("fix"))
}

// TestUnusualRepositories: a submodule, and one of which only a part is checked out.
func TestUnusualRepositories(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*world) string{
		"submodule": func(w *world) string {
			w.git(w.repo, "clone", "-q", ".", "../sub")
			w.git(w.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub")
			return filepath.Join(w.repo, "sub")
		},
		"sparse": func(w *world) string {
			w.write(w.repo, "deep/file", "x\n")
			w.write(w.repo, "other/file", "x\n")
			w.git(w.repo, "add", ".")
			w.git(w.repo, "commit", "-q", "-m", "deep")
			w.git(w.repo, "sparse-checkout", "set", "deep")
			return w.repo
		},
		"superproject": func(w *world) string {
			w.git(w.repo, "clone", "-q", ".", "../sub")
			w.git(w.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub")
			w.git(w.repo, "commit", "-q", "-m", "sub")
			return w.repo
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.keeper.Workspace = prepare(w)
			l := w.start("")
			if r := w.report(l.Name); !r.Empty() {
				t.Errorf("fresh: %+v", r)
			}
			w.write(l.Path, "file", "two\n")
			if stat := w.diff(l.Name, true); !strings.Contains(stat, "1 file changed") {
				t.Errorf("got\n%s", stat)
			}
			w.write(l.Path, "file", "one\n")
			if out := w.settle(l); out.Ending != worktree.Removed {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestALinkedWorkTreeHasWorktreesToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	linked := filepath.Join(w.dir, "linked")
	w.git(w.repo, "worktree", "add", "-q", linked)
	w.commit(linked)
	w.keeper.Workspace = linked
	l := w.start("fix")
	if _, err := os.Stat(filepath.Join(l.Path, "committed")); err != nil {
		t.Errorf("it is not from the linked work tree's HEAD: %v", err)
	}
	if out := w.settle(l); out.Ending != worktree.Removed {
		t.Errorf("%+v", out)
	}
}
