package worktree_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/fault"
)

func TestStartMakesABranchAndItsFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.repo, "file", "not committed\n")
	l := w.start("fix")
	data, err := os.ReadFile(filepath.Join(l.Path, "file"))
	if err != nil || string(data) != "one\n" || l.Branch != "lazaret/agent-fix" {
		t.Errorf("%+v: %q, %v", l, data, err)
	}
	if on := w.git(l.Path, "branch", "--show-current"); on != l.Branch {
		t.Errorf("on %q", on)
	}
	if st := w.git(l.Path, "status", "--porcelain"); st != "" {
		t.Errorf("not clean: %q", st)
	}
	if out, err := w.tryGit(w.repo, "worktree", "move", l.Path, filepath.Join(w.dir, "elsewhere")); err == nil || !strings.Contains(out, "a Lazaret session works in it") {
		t.Errorf("git moves a work tree in use: %q, %v", out, err)
	}
	out := w.settle(l)
	if out.Ending != worktree.Removed || len(w.leftovers()) > 0 {
		t.Errorf("%+v, left: %q", out, w.leftovers())
	}
}

// TestWhatIsLeftKeepsAWorktree has one row for everything that would be lost. The twins
// are what would not.
func TestWhatIsLeftKeepsAWorktree(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		do    func(*world, *worktree.Lease)
		kept  bool
		check func(worktree.Report) bool
	}{
		"nothing": {do: func(*world, *worktree.Lease) {}},
		"touched only": {do: func(w *world, l *worktree.Lease) {
			w.write(l.Path, "file", "two\n")
			w.write(l.Path, "file", "one\n")
		}},
		"ignored":        {do: func(w *world, l *worktree.Lease) { w.write(l.Path, "ignored", "x") }},
		"another branch": {do: func(w *world, l *worktree.Lease) { w.git(l.Path, "checkout", "-q", "-b", "mine"); w.commit(l.Path) }},
		"changed": {do: func(w *world, l *worktree.Lease) { w.write(l.Path, "file", "two\n") }, kept: true,
			check: func(r worktree.Report) bool { return slices.Equal(r.Changed, []string{"file"}) }},
		"removed": {do: func(w *world, l *worktree.Lease) { os.Remove(filepath.Join(l.Path, "file")) }, kept: true,
			check: func(r worktree.Report) bool { return slices.Equal(r.Changed, []string{"file"}) }},
		"untracked": {do: func(w *world, l *worktree.Lease) { w.write(l.Path, "d/new", "x") }, kept: true,
			check: func(r worktree.Report) bool { return slices.Equal(r.Changed, []string{"d/new"}) }},
		"hidden by the index": {do: func(w *world, l *worktree.Lease) {
			w.git(l.Path, "update-index", "--assume-unchanged", "file")
			w.write(l.Path, "file", "two\n")
		}, kept: true, check: func(r worktree.Report) bool { return slices.Equal(r.Changed, []string{"file"}) }},
		"staged only": {do: func(w *world, l *worktree.Lease) {
			w.write(l.Path, "file", "two\n")
			w.git(l.Path, "add", "file")
			w.write(l.Path, "file", "one\n")
		}, kept: true, check: func(r worktree.Report) bool { return r.Staged }},
		"committed": {do: func(w *world, l *worktree.Lease) { w.commit(l.Path) }, kept: true,
			check: func(r worktree.Report) bool { return r.Commits == 1 && r.On == r.Branch }},
		"committed detached": {do: func(w *world, l *worktree.Lease) { w.git(l.Path, "checkout", "-q", "--detach"); w.commit(l.Path) }, kept: true,
			check: func(r worktree.Report) bool { return r.Commits == 1 && r.On == "" }},
		"held": {do: func(w *world, l *worktree.Lease) { w.write(w.domainRoot(l), "workspace/held/.envrc", "x") }, kept: true,
			check: func(r worktree.Report) bool { return r.Held == 1 }},
		"index that is none": {do: func(w *world, l *worktree.Lease) { w.write(w.entry(l), "index", "nonsense") }, kept: true,
			check: func(r worktree.Report) bool { return r.Staged }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.start("")
			row.do(w, l)
			out := w.settle(l)
			if kept := out.Ending == worktree.Kept; kept != row.kept || row.check != nil && !row.check(out.Report) {
				t.Errorf("%+v", out)
			}
			left := w.leftovers()
			if _, err := os.Stat(l.Path); (err == nil) != row.kept || !row.kept && len(left) > 0 {
				t.Errorf("the folder: %v; left: %q", err, left)
			}
		})
	}
}

// commit commits something in a work tree.
func (w *world) commit(dir string) {
	w.t.Helper()
	w.write(dir, "committed", "x\n")
	w.git(dir, "add", "committed")
	w.git(dir, "commit", "-q", "-m", "made inside")
}

// entry is the work tree's directory in the repository.
func (w *world) entry(l *worktree.Lease) string {
	w.t.Helper()
	return w.git(l.Path, "rev-parse", "--absolute-git-dir")
}

func TestAKeptOneIsTheDevelopersToMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.start("fix")
	w.commit(l.Path)
	w.settle(l)
	elsewhere := filepath.Join(w.dir, "elsewhere")
	w.git(w.repo, "worktree", "move", l.Path, elsewhere)
	r := w.report("fix")
	if r.Missing == nil || !strings.Contains(r.Missing.Fix, elsewhere) || r.Commits != 1 {
		t.Errorf("%+v", r)
	}
	_, err := w.keeper.Resume(t.Context(), "shell", "fix")
	refused(t, err, fault.Workspace, "no longer in")
	w.git(w.repo, "worktree", "move", elsewhere, l.Path)
	again, err := w.keeper.Resume(t.Context(), "shell", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if out := w.settle(again); out.Ending != worktree.Kept || out.Report.Commits != 1 {
		t.Errorf("%+v", out)
	}
}

// TestMovedOrRemovedWhileInUse: the host does what it likes, and nothing more is lost (G24).
func TestMovedOrRemovedWhileInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moved, removed := w.start("moved"), w.start("removed")
	w.commit(moved.Path)
	w.commit(removed.Path)
	w.write(moved.Path, "file", "two\n")
	elsewhere := filepath.Join(w.dir, "elsewhere")
	if err := os.Rename(moved.Path, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(removed.Path); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*worktree.Lease{moved, removed} {
		out := w.settle(l)
		if out.Ending != worktree.Kept || out.Report.Missing == nil || out.Report.Commits != 1 {
			t.Errorf("%s: %+v", l.Name, out)
		}
		refused(t, out.Report.Missing, fault.Workspace, l.Name+" is no longer in")
	}
	if st := w.git(elsewhere, "status", "--porcelain"); st != "M file" {
		t.Errorf("where it was moved: %q", st)
	}
	if err := os.Rename(elsewhere, moved.Path); err != nil {
		t.Fatal(err)
	}
	if r := w.report("moved"); r.Missing != nil || r.Commits != 1 || len(r.Changed) != 1 {
		t.Errorf("moved back: %+v", r)
	}
	for _, name := range []string{"moved", "removed"} {
		if stays, err := w.keeper.Remove(t.Context(), name); err != nil || stays {
			t.Errorf("%s: %t, %v", name, stays, err)
		}
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestTheLastOneOutCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.start("fix")
	other, err := w.keeper.Resume(t.Context(), "shell", "fix")
	if err != nil {
		t.Fatal(err)
	}
	if !w.report("fix").Running {
		t.Error("not called running")
	}
	_, err = w.keeper.Remove(t.Context(), "fix")
	refused(t, err, fault.Workspace, "in use")
	if out := w.settle(one); out.Ending != worktree.InUse {
		t.Errorf("first: %+v", out)
	}
	if out := w.settle(other); out.Ending != worktree.Removed || len(w.leftovers()) > 0 {
		t.Errorf("last: %+v, left %q", out, w.leftovers())
	}
}

func TestTheDomainIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.start("fix")
	lock, ok, err := root.TryLock(root.LockPath(w.domainRoot(l)))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	done := make(chan worktree.Outcome)
	go func() { done <- l.Settle(t.Context()) }()
	w.write(l.Path, "late", "written at the last moment\n")
	lock.Close()
	if out := <-done; out.Err != nil || out.Ending != worktree.Kept || len(out.Report.Changed) != 1 {
		t.Errorf("%+v", out)
	}
}

// TestBranchesOfOthersStay: the sandbox can write references, and the developer can check
// the branch out.
func TestBranchesOfOthersStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alias := w.start("alias")
	w.git(w.repo, "branch", "precious")
	w.git(alias.Path, "checkout", "-q", "--detach")
	w.git(alias.Path, "symbolic-ref", "refs/heads/"+alias.Branch, "refs/heads/precious")
	if out := alias.Settle(t.Context()); out.Err == nil || out.Ending != worktree.Kept {
		t.Errorf("an alias: %+v", out)
	}
	if w.git(w.repo, "rev-parse", "precious") != w.git(w.repo, "rev-parse", "main") {
		t.Error("the branch it was an alias of is gone")
	}
	used := w.start("used")
	w.git(used.Path, "checkout", "-q", "--detach")
	w.git(w.repo, "checkout", "-q", used.Branch)
	if out := used.Settle(t.Context()); out.Err == nil {
		t.Errorf("checked out elsewhere: %+v", out)
	}
	if st := w.git(w.repo, "status", "--porcelain", "-b"); st != "## "+used.Branch {
		t.Errorf("the developer's own work tree: %q", st)
	}
}
