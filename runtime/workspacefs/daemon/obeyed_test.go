package daemon

import (
	"os"
	"slices"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/link"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// TestWhatGitObeysInAWorkTree looks at repositories of every kind: nested, with a pointer, with
// programs and hooks that lie in the tree.
func TestG13G14WhatGitObeysInAWorkTree(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		root  string
		files map[string]string
		want  []string
	}{
		"no repository":  {"a", map[string]string{"a/x": ""}, nil},
		"a nested one":   {"a/b", map[string]string{"a/b/.git/config": "[core]\nhooksPath=tools/hooks\n"}, []string{"a/b/tools/hooks"}},
		"above its root": {"a", map[string]string{"a/.git/config": "[core]\nhooksPath=../hooks\n"}, []string{"hooks"}},
		"a submodule": {"a", map[string]string{"a/.git": "gitdir: ../.git/modules/a\n", ".git/modules/a/config": "[core]\nhooksPath=h\n[include]\npath=../../../inc\n"},
			[]string{"a/h", "inc"}},
		"a linked work tree": {"a", map[string]string{"a/.git": "gitdir: ../.git/worktrees/a", ".git/worktrees/a/commondir": "../..\n",
			".git/config": "[core]\nhooksPath=h\n", ".git/worktrees/a/config.worktree": "[core]\nhooksPath=i\n"}, []string{"a/h", "a/i"}},
		"a pointer elsewhere": {"a", map[string]string{"a/.git": "gitdir: /repo/.git/worktrees/a"}, nil},
		"its own settings":    {"", map[string]string{".git/config": "", ".git/config.worktree": "[core]\nhooksPath=h\n"}, []string{"h"}},
		"a hook in the tree":  {"", map[string]string{".git/config": "", ".git/hooks/pre-commit": "-> ../../tools/one", "tools/one": "-> two", "tools/two": ""}, []string{".git/hooks/pre-commit", "tools/one", "tools/two"}},
		"a hook behind a link": {"", map[string]string{".git/config": "", ".git/hooks/pre-commit": "-> ../../link/one", "link": "-> tools", "tools/one": ""},
			[]string{".git/hooks/pre-commit", "link", "tools/one"}},
		"hooks behind a link": {"a", map[string]string{"a/.git/config": "", "a/.git/hooks": "-> ../h", "a/h/post-commit": "-> ../s", "a/s": ""},
			[]string{"a/.git/hooks", "a/h", "a/h/post-commit", "a/s"}},
		"links in a directory of hooks": {"", map[string]string{".git/config": "[core]\nhooksPath=h\n", "h/pre-push": "-> ../s", "s": ""}, []string{"h", "h/pre-push", "s"}},
		"programs": {"", map[string]string{".git/config": "[core]\nfsmonitor=./tools/fs\npager=less\n[filter \"x\"]\nclean=python3 tools/clean.py --to='sub/x' %f\n[merge \"y\"]\ndriver=tools/absent %A\n",
			"tools/fs": "", "tools/clean.py": "", "sub/x/y": ""}, []string{"tools/absent", "tools/clean.py", "tools/fs"}},
		"what starts nothing": {"", map[string]string{".git/config": "[branch \"x\"]\nmerge=refs/heads/x\n[remote \"o\"]\nurl=../x/y\n[alias]\nl=!tools/l\n[core]\nworktree=sub/x\neditor=vi\n",
			"tools/l": "", "sub/x/y": "", "vi": ""}, nil},
	} {
		host, root := world(t, c.files)
		if got := protected(host, root, c.root); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestWhatGitObeysFromOutside(t *testing.T) {
	t.Parallel()
	host, root := world(t, map[string]string{"tools/one": ""})
	repository, common := world(t, map[string]string{"config": "[core]\nhooksPath=h\n[include]\npath=" + root + "/inc\n",
		"worktrees/w/config.worktree": "[core]\nfsmonitor=tools/one\n", "hooks/pre-push": "-> " + root + "/tools/one"})
	got := protectedOutside(host, root, repository, common, "worktrees/w")
	if want := []string{"h", "inc", "tools/one"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWhatGitObeysComesToLight finds a nested repository when it is looked into, and
// follows its configuration.
func TestWhatGitObeysComesToLight(t *testing.T) {
	t.Parallel()
	host, root := world(t, map[string]string{"a/.git/config": "[core]\nhooksPath=h\n", "a/h/pre-commit": "", "a/i/pre-commit": "", "b/x": ""})
	policy, err := route.New(route.Config{Read: host.read, Look: host.look})
	if err != nil {
		t.Fatal(err)
	}
	o := newObeyed(policy, &link.Resources{Workspace: root, Host: host.dir}, []string{"fixed"})
	in := func(dir, name string) route.Class {
		d := policy.Enter(policy.Root(), dir, route.Verdict{Class: route.Shared}, func(n string) route.Kind { return host.look(dir + "/" + n) })
		return policy.Name(d, name, route.Names{Host: route.Dir}).Class
	}
	for _, dir := range []string{"a", "b"} {
		f, err := os.Open(root + "/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o.found(dir, int(f.Fd()))
	}
	if in("a", "h") != route.ReadOnly || in("a", "i") != route.Shared {
		t.Error("the hooks of a nested repository are not protected")
	}
	if err := os.WriteFile(root+"/a/.git/config", []byte("[core]\nhooksPath=i\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !o.changed("a/.git/config") || in("a", "i") != route.ReadOnly {
		t.Error("its configuration is not followed")
	}
	if o.changed("b/.git") || !obeys("a/.git/config.worktree") || !obeys(".git/hooks/x") || obeys("a/h") {
		t.Error("what decides is taken for something else")
	}
}
