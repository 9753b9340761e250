//go:build sandbox

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// newTrees is a developer with a repository of one commit, whose sessions have worktrees of
// their own.
func newTrees(t *testing.T) *e2e.Home {
	t.Helper()
	h := e2e.NewHome(t)
	t.Cleanup(func() { os.RemoveAll(h.Worktrees().Dir()) })
	h.ConfigureShell("git.mode = \"worktree\"", "")
	h.Write("../home/.gitconfig", "[user]\n\tname = Dev\n\temail = dev@example.org\n")
	h.Git("init", "-q", "-b", "main")
	h.Write("file", "one\n")
	h.Git("add", "file")
	h.Git("commit", "-q", "-m", "first")
	return h
}

// TestUnchangedWorktreeGoesAgain: the session is on its branch, and nothing stays.
func TestUnchangedWorktreeGoesAgain(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	h.Write("file", "not committed\n")
	r := h.Sh("cat file; git branch --show-current; git status --short; git log --format=%s")
	if r.Code != 0 || r.Stdout != "one\nlazaret/agent-1\nfirst\n" || !strings.Contains(r.Stderr, "worktree 1: it is removed") {
		t.Errorf("%v", r)
	}
	if left := h.Git("branch", "--list", "lazaret/*") + h.Git("worktree", "prune", "-n", "-v"); left != "" {
		t.Errorf("left: %s", left)
	}
	if list := h.Lazaret("state", "worktrees", "--json"); list.Stdout != "[]\n" {
		t.Errorf("%v", list)
	}
	if h.Read("file") != "not committed\n" {
		t.Errorf("the workspace: %q", h.Read("file"))
	}
}

// TestWorkLandsOnTheBranch: everything that git does is done in a linked worktree (G23), and
// taken from outside.
func TestWorkLandsOnTheBranch(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	const work = `set -e
echo two > file; git add file; git commit -q -m "made inside"
git branch side; git tag mark
echo three > file; git stash -q; git stash list | grep -c stash
git checkout -q -b other; git checkout -q -; git branch -q -d other
git worktree list | wc -l
git status --short
echo new > untracked`
	r := h.Lazaret("run", "--name", "fix", "--", "sh", "-c", work)
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, "1\n") || !strings.Contains(r.Stderr, "worktree fix is kept: 1 commit, 1 change not committed") {
		t.Fatalf("%v", r)
	}
	if h.Read("file") != "one\n" || h.Git("status", "--porcelain") != "" || strings.TrimSpace(h.Git("branch", "--show-current")) != "main" {
		t.Errorf("the workspace: %q, %s", h.Read("file"), h.Git("status", "-b", "--porcelain"))
	}
	if log := h.Git("log", "--format=%s by %an", "main..lazaret/agent-fix"); log != "made inside by Dev\n" {
		t.Errorf("on the branch: %q", log)
	}
	if d := h.Lazaret("state", "diff", "fix"); !strings.Contains(d.Stdout, "-one\n+two\n") || !strings.Contains(d.Stdout, "+++ b/untracked") {
		t.Errorf("%v", d)
	}
	if r := h.Lazaret("run", "--resume", "fix", "--", "cat", "untracked", "file"); r.Stdout != "new\ntwo\n" || !strings.Contains(r.Stderr, "is kept") {
		t.Errorf("%v", r)
	}
	if r := h.Lazaret("run", "--name", "fix", "--", "true"); r.Code != 2 || !strings.Contains(r.Stderr, "is taken") {
		t.Errorf("%v", r)
	}
	h.Git("merge", "-q", "lazaret/agent-fix")
	if h.Read("file") != "two\n" {
		t.Errorf("merged: %q", h.Read("file"))
	}
	if r := h.Lazaret("state", "worktrees", "remove", "--yes", "fix"); r.Code != 0 || strings.Contains(r.Stdout, "made inside") || !strings.Contains(r.Stdout, "untracked") {
		t.Errorf("%v", r)
	}
	if left := h.Git("branch", "--list", "lazaret/*"); left != "" {
		t.Errorf("left: %s", left)
	}
	h.Git("fsck", "--no-dangling")
}

// TestSessionsInWorktreesAreApart from each other and from the workspace; a second one may
// join by name, and the last one out closes.
func TestSessionsInWorktreesAreApart(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	const shell = "echo up; while read -r line; do eval \"$line\"; done"
	one := h.Open("run", "--name", "one", "--", "bash", "-c", shell)
	one.Shows("up")
	two := h.Open("run", "--", "bash", "-c", shell)
	two.Shows("up")
	one.Type("echo mine > file; echo do''ne\n")
	one.Shows("done")
	two.Type("cat file; git branch --show-current\n")
	two.Shows("one\nlazaret/agent-1")
	if r := h.Lazaret("run", "--resume", "one", "--", "cat", "file"); r.Stdout != "mine\n" || !strings.Contains(r.Stderr, "worktree one is in use by other sessions") {
		t.Errorf("%v", r)
	}
	if r := h.Lazaret("state", "worktrees", "remove", "--yes", "one"); r.Code != 124 || !strings.Contains(r.Stderr, "in use") {
		t.Errorf("%v", r)
	}
	if d := h.Lazaret("state", "diff", "one"); !strings.Contains(d.Stdout, "-one\n+mine\n") {
		t.Errorf("while it runs: %v", d)
	}
	one.Type("git checkout -q file; exit\n")
	one.Says("worktree one: it is removed")
	two.Type("exit\n")
	two.Says("worktree 1: it is removed")
}

// TestWorktreeMovedWhileInUse: the session goes on, nothing is lost, and both sides are
// told (G24).
func TestWorktreeMovedWhileInUse(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	c := h.Open("run", "--name", "fix", "--", "bash", "-c", "echo up; while read -r line; do eval \"$line\"; done")
	c.Shows("up")
	folder := h.Worktrees().Path("fix")
	c.Type("echo two > file; git commit -qam 'made inside' && echo com''mitted\n")
	c.Shows("committed")
	elsewhere := filepath.Join(h.Dir, "elsewhere")
	if err := os.Rename(folder, elsewhere); err != nil {
		t.Fatal(err)
	}
	c.Type("echo three > file; git status --short; echo sta''tus\n")
	c.Shows(" M file\nstatus")
	c.Type("exit\n")
	c.Says("worktree fix is no longer in")
	if data, err := os.ReadFile(filepath.Join(elsewhere, "file")); err != nil || string(data) != "three\n" {
		t.Errorf("where it was moved: %q, %v", data, err)
	}
	if err := os.Rename(elsewhere, folder); err != nil {
		t.Fatal(err)
	}
	h.Git("fsck", "--no-dangling")
	if r := h.Lazaret("run", "--resume", "fix", "--", "sh", "-c", "cat file; git log -1 --format=%s"); r.Stdout != "three\nmade inside\n" {
		t.Errorf("moved back: %v", r)
	}
	h.Lazaret("state", "worktrees", "remove", "--yes", "fix")
}

// TestKilledClientsAreClearedUpAfter: the sandbox ends, and the next start finds what is in
// the worktrees.
func TestKilledClientsAreClearedUpAfter(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	for _, name := range []string{"clean", "dirty"} {
		c := h.Open("run", "--name", name, "--", "sh", "-c", "test "+name+" = clean || echo two > file; echo up; exec cat")
		c.Shows("up")
		if err := c.Cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.Wait()
	}
	h.AwaitStopped()
	r := h.Lazaret("run", "--", "true")
	if r.Code != 0 || !strings.Contains(r.Stderr, "notice: worktree dirty of a session that was cut off is kept") {
		t.Errorf("%v", r)
	}
	list := h.Lazaret("state", "worktrees")
	if strings.Contains(list.Stdout, "clean") || !strings.Contains(list.Stdout, "1 change not committed") {
		t.Errorf("%v", list)
	}
}

// TestWhatGitRunsStaysTheHosts in the repository outside the workspace too.
func TestWhatGitRunsStaysTheHosts(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	config := h.Read(".git/config")
	h.Sh(`common=$(git rev-parse --git-common-dir); own=$(git rev-parse --git-dir)
git config alias.x '!id'; git config core.fsmonitor id
for f in "$common/config" "$common/hooks/post-checkout" "$common/info/attributes" "$common/config.worktree" "$own/config.worktree" \
    "$own/gitdir" "$own/commondir" "$own/locked" .git; do
  echo trap >> "$f"; rm -f "$f"; mv "$f" "$f.old"; echo trap > "$f.new" && mv "$f.new" "$f"; chmod 755 "$f"; rm -f "$f.new" "$f.old"
done`)
	if now := h.Read(".git/config"); now != config {
		t.Errorf("the configuration is %q", now)
	}
	for _, at := range []string{"hooks/post-checkout", "info/attributes", "config.worktree"} {
		if text := h.Read(".git/" + at); text != "" {
			t.Errorf("%s: %q", at, text)
		}
	}
	if left := h.Git("worktree", "list"); strings.Count(left, "\n") != 1 {
		t.Errorf("worktrees: %s\n%v", left, h.Lazaret("state", "worktrees"))
	}
}

// TestDashboardSessionsHaveWorktrees: the pane shows the branch, and the end says what is
// kept.
func TestDashboardSessionsHaveWorktrees(t *testing.T) {
	t.Parallel()
	h := newTrees(t)
	term := h.Terminal(120, 30)
	shows(t, term, "shell · lazaret/agent-1")
	shows(t, term, "#")
	typed(t, term, "echo new > untracked; git branch --show-current | tr a-z A-Z\r")
	shows(t, term, "LAZARET/AGENT-1")
	typed(t, term, "\x07n")
	shows(t, term, "shell")
	typed(t, term, "\r")
	shows(t, term, "shell · lazaret/agent-2")
	typed(t, term, "\x07q")
	shows(t, term, "Quit and end 2 sessions?")
	typed(t, term, "y")
	ends(t, term, 0)
	shows(t, term, "worktree 1 is kept: 1 change not committed")
	if list := h.Lazaret("state", "worktrees"); strings.Contains(list.Stdout, "agent-2") || !strings.Contains(list.Stdout, "agent-1") {
		t.Errorf("%v", list)
	}
}
