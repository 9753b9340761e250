package gitrules_test

import (
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// A twin is a path that belongs to another work tree, and the like one that all share or
// that is the workspace's own.
type twin struct {
	path, shared string
	kind         gitrules.Kind
}

var twins = []twin{
	{"HEAD", "worktrees/wt/HEAD", gitrules.File},
	{"HEAD.lock", "worktrees/wt/HEAD.lock", gitrules.File},
	{"index", "worktrees/wt/index", gitrules.File},
	{"index.lock", "packed-refs.lock", gitrules.File},
	{"index.stash.12", "packed-refs.new", gitrules.File},
	{"next-index-12.lock", "shallow_uqZ7ug", gitrules.File},
	{"ORIG_HEAD", "packed-refs", gitrules.File},
	{"FETCH_HEAD", "shallow", gitrules.File},
	{"CHERRY_PICK_HEAD", "gc.pid", gitrules.File},
	{"REVERT_HEAD.lock", "gc.pid.lock", gitrules.File},
	{"REBASE_HEAD", "worktrees/wt/REBASE_HEAD", gitrules.File},
	{"MERGE_HEAD", "worktrees/wt/MERGE_HEAD", gitrules.File},
	{"MERGE_MSG", "worktrees/wt/MERGE_MSG", gitrules.File},
	{"MERGE_MODE", "worktrees/wt/MERGE_MODE", gitrules.File},
	{"MERGE_AUTOSTASH", "worktrees/wt/MERGE_AUTOSTASH", gitrules.File},
	{"AUTO_MERGE", "worktrees/wt/AUTO_MERGE", gitrules.File},
	{"SQUASH_MSG", "worktrees/wt/SQUASH_MSG", gitrules.File},
	{"COMMIT_EDITMSG", "worktrees/wt/COMMIT_EDITMSG", gitrules.File},
	{"info/sparse-checkout", "info/refs", gitrules.File},
	{"logs/HEAD", "logs/refs/HEAD", gitrules.File},
	{"logs/HEAD.lock", "logs/refs/stash.lock", gitrules.File},
	{"logs/refs/bisect", "logs/refs/heads", gitrules.Dir},
	{"logs/refs/worktree/x", "logs/refs/heads/worktree", gitrules.File},
	{"refs/bisect/bad", "refs/heads/bad", gitrules.File},
	{"refs/bisect", "refs/tags", gitrules.Dir},
	{"refs/Bisect", "refs/tags/bisect", gitrules.Dir},
	{"refs/worktree/x", "refs/stash", gitrules.File},
	{"refs/rewritten/onto", "refs/remotes/rewritten", gitrules.File},
	{"modules/libs/deep/HEAD", "objects/3a/HEAD", gitrules.File},
	{"worktrees/other/HEAD", "worktrees/wt/logs/HEAD", gitrules.File},
	{"worktrees/other/HEAD.lock", "objects/maintenance.lock", gitrules.File},
	{"worktrees/other/index", "worktrees/wt/refs/bisect/bad", gitrules.File},
	{"worktrees/other/logs/HEAD", "worktrees/wt/info/sparse-checkout", gitrules.File},
	{"worktrees/other/x", "lost-found/x", gitrules.File},
}

// linked decides about a path of a repository of which the workspace is the linked work
// tree wt.
func (t tree) linked(path string, own gitrules.Kind) gitrules.Decision {
	return t.from(gitrules.Common, path, own)
}

var commonTree = func() tree {
	t := treeOf("worktrees/other/HEAD", "worktrees/other/index", "worktrees/other/logs/HEAD", "ORIG_HEAD", "MERGE_MSG", "refs/bisect/bad", "refs/worktree/x",
		"info/sparse-checkout", "packed-refs")
	for path, kind := range repository {
		t[path] = kind
	}
	return t
}()

func TestOtherWorkTreesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, w := range twins {
		for _, own := range []gitrules.Kind{gitrules.None, w.kind, gitrules.Symlink} {
			want := gitrules.Absent
			if commonTree[w.path] != gitrules.None {
				want = gitrules.ReadOnly
			}
			if d := commonTree.linked(w.path, own); d.Class != want || d.Why == "" {
				t.Errorf("%q (own %d) is %+v, want class %d", w.path, own, d, want)
			}
		}
		if d := commonTree.linked(w.shared, w.kind); d.Class != gitrules.Shared {
			t.Errorf("%q is %+v", w.shared, d)
		}
		if d := commonTree.decide(w.shared, w.kind); d != commonTree.linked(w.shared, w.kind) {
			t.Errorf("%q is otherwise for the main work tree: %+v", w.shared, d)
		}
	}
}

func TestWhyAnotherWorkTreesIsRefused(t *testing.T) {
	t.Parallel()
	for _, path := range strings.Fields("HEAD logs/HEAD refs/bisect worktrees/other modules info/sparse-checkout") {
		if d := commonTree.linked(path, gitrules.None); d.Why != "another work tree's own" {
			t.Errorf("%q is %+v", path, d)
		}
	}
}

// TestALinkedWorkTreeAddsNothing: what the main work tree may not write, a linked one may
// not either, and what is held stays held.
func TestALinkedWorkTreeAddsNothing(t *testing.T) {
	t.Parallel()
	for _, path := range refused {
		for _, own := range []gitrules.Kind{gitrules.None, gitrules.File, gitrules.Dir, gitrules.Symlink} {
			if d := commonTree.linked(path, own); d.Class != gitrules.Absent && d.Class != gitrules.ReadOnly {
				t.Errorf("%q (own %d) is %+v", path, own, d)
			}
		}
	}
	for _, path := range aside {
		if strings.HasPrefix(path, "modules/") {
			continue // those of another work tree
		}
		if d := commonTree.linked(path, gitrules.File); d.Class != gitrules.Held {
			t.Errorf("%q is %+v", path, d)
		}
	}
	for _, path := range strings.Fields("objects refs info logs worktrees worktrees/wt worktrees/other hooks modules") {
		if d := commonTree.linked(path, gitrules.None); !d.Pinned {
			t.Errorf("%q can be moved: %+v", path, d)
		}
	}
}
