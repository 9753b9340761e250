//go:build sandbox

package e2e_test

import (
	"crypto/sha1"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// hostileIndex has git write a path wherever it leads.
func hostileIndex(path string) string {
	entry := make([]byte, 62)
	binary.BigEndian.PutUint32(entry[24:], 0o100755)
	binary.BigEndian.PutUint16(entry[60:], uint16(len(path)))
	out := binary.BigEndian.AppendUint32(append([]byte("DIRC"), 0, 0, 0, 2), 1)
	out = append(append(append(out, entry...), path...), make([]byte, 8-(len(entry)+len(path))%8)...)
	sum := sha1.Sum(out)
	return string(append(out, sum[:]...))
}

// A day's git work inside, in a repository of the host's with a linked work tree.
func TestGitWorkInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Git("init", "-q", "-b", "main")
	h.Write("a", "1\n")
	h.Git("add", "-A")
	h.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1")
	linked := filepath.Join(filepath.Dir(h.Workspace), "linked")
	h.Git("worktree", "add", "-q", linked)
	h.Hold()
	h.Must(`set -e
		git() { command git -c user.name=a -c user.email=a@b "$@"; }
		echo 2 >a; git add a; git commit -qm 2
		git checkout -q -b topic HEAD~1
		echo b >b; git add b; git commit -qm 3; git commit -q --amend -m three
		echo c >b; git stash; git stash pop; git commit -qam 4
		git rebase -q main; git checkout -q main; git merge -q --no-ff -m merge topic
		git tag v1; git branch x/y; git pack-refs --all; git reset -q --hard HEAD~1; git merge -q topic
		git gc -q; git fsck; git status`)
	if out := h.Git("status", "--porcelain"); strings.TrimSpace(out) != "" {
		t.Errorf("the host's git: %q", out)
	}
	h.Git("fsck")

	// What the host's git trusts cannot be brought in.
	h.Write("evil", hostileIndex(".git/hooks/pre-commit"))
	h.Write("good", h.Read(".git/index"))
	for _, refused := range []string{"cat evil >.git/index", "cp evil .git/index", "cat evil >.git/index.lock; mv .git/index.lock .git/index",
		"echo ref: config >.git/HEAD.lock; mv .git/HEAD.lock .git/HEAD", "rm .git/HEAD", "ln .git/index x", "truncate -s 0 .git/index"} {
		h.Sh(refused)
		if h.Read(".git/index") != h.Read("good") || !strings.HasPrefix(h.Read(".git/HEAD"), "ref: refs/heads/main") {
			t.Fatalf("%q changed it", refused)
		}
	}
	h.Must("rm -f .git/index.lock .git/HEAD.lock; cat good >.git/index.lock; mv .git/index.lock .git/index")

	// For git inside the linked work tree is gone. The host's git goes on with it.
	h.Sh("git worktree prune -v --expire now")
	for _, name := range []string{"HEAD", "index", "gitdir", "commondir", "logs/HEAD"} {
		if _, err := os.Lstat(filepath.Join(h.Workspace, ".git/worktrees/linked", name)); err != nil {
			t.Errorf("pruned: %v", err)
		}
	}
	h.Git("-C", linked, "status")
}

// What the sandbox wrote last before a crash is not taken for the host's at the next
// start; what the host writes then is.
func TestACrashRevealsNothing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Git("init", "-q")
	h.Write(".gitignore", "secret.txt\n*.tmp\n")
	h.Write("secret.txt", "HOST")
	h.Write("x.tmp", "HOST")
	h.Git("add", ".gitignore")
	for range 3 {
		c := h.Open("run", "--", "sh", "-c", "echo mine >x.tmp; git add -f x.tmp; echo '# nothing' >.gitignore; echo '!secret.txt' >.gitignore; echo written; exec cat")
		c.Shows("written")
		family := h.Family()
		h.Find("workspace").Kill(t)
		c.Wait()
		e2e.AwaitGone(t, family)
		h.AwaitStopped()
		if r := h.Sh("cat secret.txt x.tmp; git checkout-index -f -a"); strings.Contains(r.Stdout, "HOST") {
			t.Fatalf("revealed: %v", r)
		}
		h.AwaitStopped()
	}
	h.Write(".gitignore", "*.tmp\n")
	if out := h.Must("cat secret.txt"); out != "HOST" {
		t.Errorf("what the host writes does not count: %q", out)
	}
}
