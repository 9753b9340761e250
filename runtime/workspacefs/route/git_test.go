package route_test

import (
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func TestG07GitDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.ReadOnly, ".git/config", ".git/hooks", ".git/hooks/pre-push", ".git/info/exclude")
	w.wantNew(route.Absent, route.File, ".git/x", ".git/config.lock", ".git/hooks/pre-commit", ".git/commondir", ".git/objects/info/alternates")
	w.wantNew(route.Shared, route.File, ".git/index.lock", ".git/refs/heads/x", ".git/objects/3a/bd", ".git/COMMIT_EDITMSG")
	w.wantNew(route.Held, route.Dir, ".git/rebase-merge", ".git/worktrees", ".git/modules")
	if v := w.at(".git/index"); !v.Vetted || !v.Git {
		t.Errorf("the index is %+v", v)
	}
	if err := w.policy.Check(w.enter(".git"), "index", []byte(index(".git/config"))); err == nil {
		t.Error("an index with a path in .git passes")
	}
	if err := w.policy.Check(w.enter(".git"), "index", []byte(index("src/main.go"))); err != nil {
		t.Error(err)
	}
	if err := w.policy.Check(w.enter(".git/refs/heads"), "index", []byte("0f\n")); err != nil {
		t.Errorf("a branch called index: %v", err)
	}
}

func TestG06NothingAboveAGitDirectoryMoves(t *testing.T) {
	t.Parallel()
	files := repository()
	files["vendor/sub/.git/HEAD"], files["lib/mod/.git"], files["plain/x/y"] = "x", "gitdir: ../../.git/modules/mod", "x"
	w := newWorld(t, usual, files)
	w.enter("vendor/sub/.git")
	w.enter("lib/mod")
	for path, want := range map[string]bool{".git": true, "vendor": true, "vendor/sub": true, "vendor/sub/.git": true, "lib": true, "lib/mod": true,
		"lib/mod/.git": true, "plain": false, "plain/x": false, "src": false} {
		if v := w.at(path); v.Pinned != want {
			t.Errorf("%q is %+v, want pinned %v", path, v, want)
		}
	}
	before := w.policy.Generation()
	w.policy.Found("plain/x/.git")
	if w.policy.Generation() == before || !w.at("plain").Pinned {
		t.Error("what a walk found pins nothing")
	}
}

func TestG01NestedRepositories(t *testing.T) {
	t.Parallel()
	files := repository()
	for _, name := range []string{"HEAD", "config", "objects/x", "refs/x", "hooks/x"} {
		files["vendor/sub/.git/"+name] = "x"
	}
	w := newWorld(t, usual, files)
	w.want(route.ReadOnly, "vendor/sub/.git/config", "vendor/sub/.git/hooks/x")
	w.wantNew(route.Absent, route.File, "vendor/sub/.git/hooks/pre-commit")
	w.wantNew(route.Shared, route.File, "vendor/sub/.git/index.lock")
}

func TestG17G20NewGitDirectories(t *testing.T) {
	t.Parallel()
	files := repository()
	for _, name := range []string{"HEAD", "config", "index", "objects/info/packs", "refs/heads/main", "hooks/pre-push", "info/exclude"} {
		delete(files, ".git/"+name)
	}
	w := newWorld(t, usual, files)
	for _, kind := range []route.Kind{route.Dir, route.File, route.Symlink} {
		w.wantNew(route.Held, kind, ".git", "src/.git", "new/clone/.git")
	}
	w.wantNew(route.Held, route.File, ".git/hooks/pre-commit", "new/clone/.git/config")
	w.wantNew(route.Absent, route.Dir, ".GIT", "src/git~1", ".git ")
	w.wantNew(route.Shared, route.File, "new/clone/src.c", ".github")
}

func TestOtherSpellingsOfGit(t *testing.T) {
	t.Parallel()
	files := repository()
	files["sub/.Git/config"] = "x"
	w := newWorld(t, usual, files)
	w.want(route.ReadOnly, "sub/.Git", "sub/.Git/config")
	w.wantNew(route.Absent, route.File, "sub/.Git/hooks")
}

func TestPointersAreReadOnly(t *testing.T) {
	t.Parallel()
	files := repository()
	files["wt/.git"], files["ln/.git"] = "gitdir: /elsewhere", "->elsewhere"
	w := newWorld(t, usual, files)
	w.want(route.ReadOnly, "wt/.git", "ln/.git")
}

// TestBareRepositories tries every order in which one could come to be.
func TestBareRepositories(t *testing.T) {
	t.Parallel()
	files := repository()
	for _, path := range []string{"bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/config", "head/HEAD", "both/objects/x", "both/refs/x",
		"two/HEAD", "two/objects/x", "link/HEAD", "link/commondir"} {
		files[path] = "x"
	}
	w := newWorld(t, usual, files)
	w.want(route.ReadOnly, "bare/config", "link/commondir")
	w.wantNew(route.Absent, route.File, "bare/hooks/pre-push", "bare/config.worktree", "link/config")
	w.wantNew(route.Shared, route.File, "bare/refs/y")
	w.wantNew(route.Held, route.File, "HEAD", "any/HEAD", "both/HEAD", "head/commondir")
	w.wantNew(route.Held, route.Dir, "head/objects", "head/refs", "two/refs")
	w.wantNew(route.Held, route.Symlink, "head/objects", "two/refs", "src/HEAD")
	w.wantNew(route.Shared, route.Dir, "both/hooks", "src/objects", "src/refs")
	w.wantNew(route.Shared, route.File, "any/HEAD.md", "head/x")
	w.want(route.Shared, "head/HEAD", "head")
}

func TestG13G14WhatTheConfigurationRefersTo(t *testing.T) {
	t.Parallel()
	files := repository()
	files["build/gitconfig"], files["tools/hooks/pre-commit"], files["tools/x"] = "x", "x", "x"
	config := usual
	config.Protected = []string{"build/gitconfig", "tools/hooks", "missing/inc"}
	w := newWorld(t, config, files)
	w.want(route.ReadOnly, "build/gitconfig", "tools/hooks", "tools/hooks/pre-commit")
	w.wantNew(route.Absent, route.File, "tools/hooks/post-merge", "missing/inc")
	w.want(route.Shared, "tools/x", "build")
	w.wantNew(route.Shared, route.File, "build/x", "missing/other")
	if !w.at("tools").Pinned || !w.at("build").Pinned {
		t.Error("what lies above a protected path can be moved")
	}
	before := w.policy.Generation()
	if w.policy.Protect(config.Protected) || !w.policy.Protect([]string{"src/main.go"}) || w.policy.Generation() != before+1 {
		t.Error("the generation does not follow the host's configuration")
	}
	w.want(route.ReadOnly, "src/main.go")
	w.want(route.Shared, "build/gitconfig")
}

func TestG23OutsideGitDirectory(t *testing.T) {
	t.Parallel()
	config := usual
	config.Index, config.Exclude = []byte(index("dist/kept.js", "a")), []byte("*.tmp\n")
	w := newWorld(t, config, map[string]string{".git": "gitdir: /repo/.git/worktrees/x", ".gitignore": "dist/\n", "dist/kept.js": "x", "a.tmp": "x"})
	w.want(route.Shared, "dist", "dist/kept.js")
	w.want(route.Held, "a.tmp")
	if !w.host(route.Outside+"/index", index("a")) {
		t.Error("a change of the index outside changes nothing")
	}
	w.want(route.Held, "dist")
	w = newWorld(t, usual, map[string]string{".git": "gitdir: /repo/.git/worktrees/x", ".gitignore": "dist/\n", "dist/kept.js": "x"})
	w.want(route.Held, "dist") // there is no index yet
	w.host(route.Outside+"/index", index("dist/kept.js"))
	w.want(route.Shared, "dist/kept.js")
}

// TestG08: the answer does not depend on the file that is there, so replacing it
// changes nothing.
func TestG08ReplacedConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	dir := w.enter(".git")
	w.host(".git/config", "[a]\n\tb = c\n")
	if v := w.policy.Name(dir, "config", route.Names{Host: route.File}); v.Class != route.ReadOnly {
		t.Errorf("a replaced configuration is %+v", v)
	}
	w.host(".git/config", "")
	w.wantNew(route.Absent, route.File, ".git/config", ".git/config.lock")
}

func TestNestedRulesStopAtTheRepository(t *testing.T) {
	t.Parallel()
	files := repository()
	for path, content := range map[string]string{"sub/.git": "gitdir: ../.git/modules/sub", ".git/modules/sub/HEAD": "x",
		".git/modules/sub/index": index("out/kept"), ".git/modules/sub/info/exclude": "private\n", "sub/.gitignore": "/out/\n", "sub/out/kept": "x",
		"sub/out/made": "x", "sub/a.log": "x", "sub/private": "x", "sub/deep/out/x": "x"} {
		files[path] = content
	}
	w := newWorld(t, usual, files)
	w.want(route.Shared, "sub", "sub/a.log", "sub/out", "sub/out/kept", "sub/deep/out/x")
	w.want(route.Held, "sub/out/made", "sub/private", "debug.log")
	w.host("sub/.git", "")
	w.want(route.Held, "sub/a.log")
}

func TestLinkedWorkTreesShareTheirExcludeFile(t *testing.T) {
	t.Parallel()
	files := repository()
	for path, content := range map[string]string{"trees/a/.git": "gitdir: ../../.git/worktrees/a\n", ".git/worktrees/a/commondir": "../..\n",
		".git/worktrees/a/HEAD": "x", ".git/worktrees/a/index": index("kept.tmp"), "trees/a/scratch/x": "x", "trees/a/kept.tmp": "x", "trees/a/made.tmp": "x"} {
		files[path] = content
	}
	w := newWorld(t, usual, files)
	w.want(route.Held, "trees/a/scratch", "scratch")
	w.host(".git/info/exclude", "*.tmp\n")
	w.want(route.Held, "trees/a/made.tmp")
	w.want(route.Shared, "trees/a/scratch/x", "scratch/x", "trees/a/kept.tmp")
}

// An index is looked at with ids of the size that the host's configuration says.
func TestIndexesAreCheckedAsTheRepositoryHasThem(t *testing.T) {
	t.Parallel()
	good := []byte(index("a"))
	for config, want := range map[string]bool{"[core]\n": true, "[extensions]\n objectFormat = sha256\n": false} {
		files := repository()
		files[".git/config"] = config
		files[".git/worktrees/wt/HEAD"] = "x"
		w := newWorld(t, usual, files)
		for _, dir := range []string{".git", ".git/worktrees/wt"} {
			if err := w.policy.Check(w.enter(dir), "index", good); (err == nil) != want {
				t.Errorf("%q in %q: %v", config, dir, err)
			}
		}
		if err := w.policy.Check(w.enter(".git"), "index", []byte(index("../x"))); err == nil {
			t.Error("took a path out of the work tree")
		}
	}
	for config, want := range map[string]bool{"": true, "[extensions]\n objectFormat = sha256\n": false} {
		c := usual
		c.GitConfig, c.Admin = []byte(config), "worktrees/x"
		w := newWorld(t, c, map[string]string{})
		if err := w.policy.Check(w.outside("worktrees/x"), "index", good); (err == nil) != want {
			t.Errorf("outside, %q: %v", config, err)
		}
	}
}
