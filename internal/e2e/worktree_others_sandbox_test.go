//go:build sandbox

package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// ownOf is what the work trees on the host have of their own in the repository, by path:
// the main one, and the linked one "linked".
func ownOf(t *testing.T, h *e2e.Home) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(h.Workspace, ".git"), func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, filepath.Join(h.Workspace, ".git")+"/")
		switch {
		case err != nil:
			return err
		case name == "objects" || name == "worktrees/fix" || name == "refs/heads" || name == "logs/refs/heads":
			return fs.SkipDir
		case e.IsDir():
			all[name] = "a directory"
			return nil
		}
		data, err := os.ReadFile(path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// otherTrees has, beside the workspace, a linked worktree of the developer's own.
func otherTrees(t *testing.T) *e2e.Home {
	t.Helper()
	h := newTrees(t)
	h.Git("worktree", "add", "-q", "-b", "elsewhere", filepath.Join(filepath.Dir(h.Workspace), "linked"))
	return h
}

// TestOtherWorkTreesAreOutOfReach: a session that names the repository's directory changes
// neither what the workspace checks out nor what another worktree does (G23).
func TestOtherWorkTreesAreOutOfReach(t *testing.T) {
	t.Parallel()
	h := otherTrees(t)
	before := ownOf(t, h)
	r := h.Lazaret("run", "--name", "fix", "--", "bash", "-c", `common=$(git rev-parse --git-common-dir); own=$(git rev-parse --git-dir)
git branch evil
for dir in "$common" "$common/worktrees/linked"; do
  git --git-dir="$dir" symbolic-ref HEAD refs/heads/evil && echo "HEAD of $dir"
  git --git-dir="$dir" update-ref ORIG_HEAD evil && echo "ORIG_HEAD of $dir"
  git --git-dir="$dir" update-ref refs/bisect/bad evil && echo "refs/bisect of $dir"
  git --git-dir="$dir" update-ref refs/worktree/x evil && echo "refs/worktree of $dir"
  git --git-dir="$dir" --work-tree=. read-tree --empty && echo "index of $dir"
  for f in HEAD index FETCH_HEAD MERGE_HEAD MERGE_MSG SQUASH_MSG COMMIT_EDITMSG logs/HEAD info/sparse-checkout; do
    echo trap >> "$dir/$f" && echo "wrote $dir/$f"
    echo trap > "$own/MERGE_MSG" && mv "$own/MERGE_MSG" "$dir/$f" && echo "moved to $dir/$f"
    echo trap > "$dir/$f.lock" && echo "locked $dir/$f"
    mv "$dir/$f" "$own/FETCH_HEAD" && echo "moved $dir/$f"
    rm "$dir/$f" && echo "removed $dir/$f"
  done
done
mv "$common/worktrees/linked" "$common/worktrees/gone" && echo moved; rm -rf "$common/worktrees/linked"
git branch -m elsewhere renamed
git symbolic-ref HEAD refs/heads/evil; git symbolic-ref HEAD`)
	if r.Code != 0 || r.Stdout != "refs/heads/evil\n" {
		t.Errorf("%v", r)
	}
	after := ownOf(t, h)
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s was %q and is %q", name, content, after[name])
		}
		delete(after, name)
	}
	delete(after, "packed-refs") // what all share
	for name := range after {
		t.Errorf("%s was not there", name)
	}
}

// TestADaysWorkInAWorktree that needs nothing of the other work trees.
func TestADaysWorkInAWorktree(t *testing.T) {
	t.Parallel()
	h := otherTrees(t)
	before := ownOf(t, h)
	r := h.Lazaret("run", "--name", "fix", "--", "sh", "-ec", `
echo 2 >file; git add file; git commit -qm 2
git checkout -q -b topic HEAD~1
echo b >b; git add b; git commit -qm 3; git commit -q --amend -m three
echo c >b; git stash -q; git stash pop -q; git commit -qam 4
git rebase -q lazaret/agent-fix
git checkout -q lazaret/agent-fix; git merge -q --no-ff -m merge topic
git tag v1; git branch x/y; git branch -q -D x/y
git fetch -q . main:refs/remotes/o/main; git fetch -q . main
git cherry-pick HEAD^2 --allow-empty --keep-redundant-commits >/dev/null
git bisect start HEAD main >/dev/null; git bisect reset >/dev/null
git stash list | wc -l
git pack-refs --all; git reset -q --hard HEAD~1
git gc -q; git fsck --no-dangling
test -z "$(git status --short)"; git log -1 --format=%s`)
	if r.Code != 0 || r.Stdout != "0\nmerge\n" {
		t.Errorf("%v", r)
	}
	after := ownOf(t, h)
	for name, content := range before {
		if name != "packed-refs" && name != "info/refs" && after[name] != content {
			t.Errorf("%s was %q and is %q", name, content, after[name])
		}
	}
	if tag := h.Git("log", "-1", "--format=%s", "v1"); tag != "merge\n" {
		t.Errorf("the tag is on %q", tag)
	}
	h.Git("fsck", "--no-dangling")
}
