package gitrules_test

import (
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// written is what git 2.39 makes while it does ordinary work, as seen by tracing its
// system calls. Directories end in "/".
var written = map[string]string{
	"add":             "index.lock index objects/3a/ objects/3a/tmp_obj_Ab12cd objects/3a/7bd8f0c8a0b8a4a4d3f0a4a4d3f0a4a4d3f0a4",
	"add -e":          "ADD_EDIT.patch",
	"add -p":          "addp-hunk-edit.diff",
	"commit":          "COMMIT_EDITMSG HEAD.lock HEAD logs/HEAD logs/refs/heads/main refs/heads/main refs/heads/main.lock objects/maintenance.lock",
	"commit -- path":  "next-index-4711.lock",
	"branch":          "refs/heads/feature/ refs/heads/feature/x refs/heads/feature/x.lock logs/refs/heads/feature/ logs/refs/heads/feature/x",
	"branch -d":       "packed-refs packed-refs.lock packed-refs.new",
	"branch -m":       "logs/refs/.tmp-renamed-log",
	"stash":           "ORIG_HEAD ORIG_HEAD.lock index.stash.123 index.stash.123.lock refs/stash refs/stash.lock logs/refs/stash logs/refs/stash.lock",
	"merge":           "AUTO_MERGE MERGE_HEAD MERGE_MODE MERGE_MSG ORIG_HEAD MERGE_AUTOSTASH",
	"merge --squash":  "SQUASH_MSG",
	"cherry-pick":     "CHERRY_PICK_HEAD CHERRY_PICK_HEAD.lock MERGE_MSG.lock",
	"revert":          "REVERT_HEAD REVERT_HEAD.lock",
	"rebase":          "REBASE_HEAD REBASE_HEAD.lock",
	"notes":           "refs/notes/ refs/notes/commits NOTES_MERGE_PARTIAL NOTES_MERGE_REF NOTES_MERGE_REF.lock NOTES_MERGE_WORKTREE/ NOTES_MERGE_WORKTREE/fbe NOTES_EDITMSG",
	"tag":             "TAG_EDITMSG refs/tags/v1 refs/tags/v1.lock",
	"fetch":           "FETCH_HEAD shallow shallow.lock shallow_uqZ7ug refs/remotes/ refs/remotes/origin/ refs/remotes/origin/HEAD refs/prefetch/",
	"gc":              "gc.pid gc.pid.lock info/refs info/refs_y6TNjo logs/HEAD.lock objects/info/packs objects/info/packs_yyzQ6c objects/pack/.tmp-1-pack-0f.idx objects/pack/pack-0f.pack objects/pack/tmp_pack_DpWPK1",
	"repack":          "objects/bitmap-ref-tips_lp9nOk objects/pack/multi-pack-index objects/pack/multi-pack-index.lock objects/pack/tmp_bitmap_ksaRLN",
	"commit-graph":    "objects/info/commit-graph objects/info/commit-graph.lock objects/info/commit-graphs/ objects/info/commit-graphs/commit-graph-chain",
	"receive":         "objects/tmp_objdir-incoming-hvWMmc/ objects/tmp_objdir-incoming-hvWMmc/0f/ objects/tmp_objdir-incoming-hvWMmc/0f/tmp_obj_R12345",
	"replace":         "refs/replace/ refs/replace/7aaa6ae5",
	"fsck":            "lost-found/ lost-found/commit/ lost-found/commit/9f10",
	"sparse-checkout": "info/sparse-checkout info/sparse-checkout.lock",
	"lfs":             "lfs/ lfs/objects/ lfs/objects/ab/ lfs/tmp/",
	"in a worktree":   "worktrees/wt/index.lock worktrees/wt/HEAD.lock worktrees/wt/ORIG_HEAD worktrees/wt/COMMIT_EDITMSG worktrees/wt/logs/HEAD worktrees/wt/refs/ worktrees/wt/refs/bisect/",
	"in a submodule":  "modules/libs/deep/index.lock modules/libs/deep/HEAD.lock modules/libs/deep/refs/heads/x modules/libs/deep/modules/in/index.lock modules/libs/deep/objects/3a/",
}

func TestOrdinaryGitWorks(t *testing.T) {
	t.Parallel()
	for what, list := range written {
		for _, path := range strings.Fields(list) {
			name, kind := path, gitrules.File
			if dir, ok := strings.CutSuffix(path, "/"); ok {
				name, kind = dir, gitrules.Dir
			}
			if d := repository.decide(name, kind); d.Class != gitrules.Shared {
				t.Errorf("git %s: %q is %+v", what, name, d)
			}
		}
	}
}

// aside is what git keeps for itself while it works, and what would be a git
// directory of the sandbox's own.
var aside = strings.Fields(`rebase-merge/git-rebase-todo rebase-merge/done rebase-apply/patch rebased-patches sequencer/todo
	MERGE_RR MERGE_RR.lock rr-cache/11/postimage BISECT_LOG BISECT_NAMES BISECT_RUN BISECT_START BISECT_EXPECTED_REV.lock gc.log
	worktrees/new/HEAD worktrees/new/config modules/new/config modules/libs/new/hooks/pre-commit modules/libs/deep/modules/new/config`)

func TestWhatCouldRunIsHeld(t *testing.T) {
	t.Parallel()
	for _, path := range aside {
		if d := repository.decide(path, gitrules.File); d.Class != gitrules.Held {
			t.Errorf("%q is %+v", path, d)
		}
	}
}

// refused is what makes the host's git run or obey something, and what nobody has
// asked for. The host has some of it.
var refused = strings.Fields(`config config.lock config.worktree config.worktree.lock hooks hooks/pre-commit hooks/pre-push hooks/x/y
	commondir gitdir description branches branches/x remotes/origin remotes/x git-daemon-export-ok fsmonitor--daemon.ipc svn/metadata svn/x
	info/attributes info/exclude info/grafts info/x.lock objects/info/alternates objects/info/http-alternates objects/info/x objects/x
	objects/tmp_objdir-incoming-a/info/alternates x .x HEAD.x CONFIG Config OBJECTS objects/INFO EDIT_DESCRIPTION sharedindex.0f
	worktrees/wt/commondir worktrees/wt/gitdir worktrees/wt/config.worktree worktrees/wt/hooks worktrees/wt/objects worktrees/wt/locked
	modules/libs/deep/config modules/libs/deep/hooks/pre-commit modules/libs/deep/commondir modules/libs/deep/modules/in/config
	modules/libs/deep/modules/in/hooks`)

// TestG01 has its counterparts in G02 (modules), G04 (pointers of work trees), G07
// (config and hooks as the target of a rename): all of them are decisions by name.
func TestG01G02G04G07RefusedNames(t *testing.T) {
	t.Parallel()
	for _, path := range refused {
		for _, own := range []gitrules.Kind{gitrules.None, gitrules.File, gitrules.Dir, gitrules.Symlink} {
			d := repository.decide(path, own)
			want := gitrules.Absent
			if repository[path] != gitrules.None {
				want = gitrules.ReadOnly
			}
			if d.Class != want || d.Why == "" {
				t.Errorf("%q (own %d) is %+v, want class %d", path, own, d, want)
			}
		}
	}
}

func TestNoLinksOrSpecialFiles(t *testing.T) {
	t.Parallel()
	for _, list := range written {
		for _, path := range strings.Fields(list) {
			path = strings.TrimSuffix(path, "/")
			for _, own := range []gitrules.Kind{gitrules.Symlink, gitrules.Other} {
				if d := repository.decide(path, own); d.Class != gitrules.Absent && d.Class != gitrules.ReadOnly {
					t.Errorf("%q as kind %d is %+v", path, own, d)
				}
			}
		}
	}
}

func TestG06StructureIsPinned(t *testing.T) {
	t.Parallel()
	for _, path := range strings.Fields("objects refs info logs objects/info hooks worktrees worktrees/wt modules modules/libs modules/libs/deep modules/libs/deep/objects") {
		if d := repository.decide(path, gitrules.None); !d.Pinned {
			t.Errorf("%q can be moved: %+v", path, d)
		}
	}
	for _, path := range strings.Fields("refs/heads logs/refs objects/0f index HEAD") {
		if d := repository.decide(path, gitrules.None); d.Pinned {
			t.Errorf("%q cannot be moved, which git does: %+v", path, d)
		}
	}
}

func TestVettedNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"index": true, "HEAD": true, "ORIG_HEAD": true, "refs/heads/main": true, "refs/heads/main.lock": false,
		"index.lock": false, "HEAD.lock": false, "MERGE_HEAD": false, "worktrees/wt/index": true, "modules/libs/deep/index": true} {
		if d := repository.decide(path, gitrules.File); d.Vetted != want || d.Class != gitrules.Shared {
			t.Errorf("%q is %+v, want vetted %v", path, d, want)
		}
	}
}

func TestKeptNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"HEAD": true, "index": false, "logs/HEAD": true, "logs/refs/heads/main": false, "logs/refs/HEAD": false,
		"refs/heads/main": false, "worktrees/wt/HEAD": true, "worktrees/wt/index": true, "worktrees/wt/logs/HEAD": true,
		"modules/libs/deep/HEAD": true, "HEAD.lock": false, "objects/0f/HEAD": false} {
		if d := repository.decide(path, gitrules.None); d.Kept != want {
			t.Errorf("%q is %+v, want kept %v", path, d, want)
		}
	}
	if d := treeOf("objects/").decide("HEAD", gitrules.File); d.Kept {
		t.Errorf("a HEAD that is not there is kept: %+v", d)
	}
}

// FuzzDecide holds that nothing outside the lists is ever writable, whatever the
// place, and that no answer lacks its reason.
func FuzzDecide(f *testing.F) {
	for _, path := range append(append([]string{}, refused...), aside...) {
		f.Add(path, uint8(1))
	}
	f.Fuzz(func(t *testing.T, path string, kind uint8) {
		if path == "" || strings.Contains(path, "//") || path[0] == '/' || path[len(path)-1] == '/' {
			return
		}
		d := repository.decide(path, gitrules.Kind(kind%5))
		name := path[strings.LastIndexByte(path, '/')+1:]
		switch name {
		case "config", "alternates", "commondir", "gitdir", "config.worktree":
			if d.Class == gitrules.Shared && !strings.Contains(path, "refs/") && !strings.Contains(path, "logs/") {
				t.Errorf("%q is %+v", path, d)
			}
		}
		if d.Class < gitrules.Shared || d.Class > gitrules.Held || d.Why == "" {
			t.Errorf("%q is %+v", path, d)
		}
	})
}
