package gitrules_test

import (
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// A tree is a git directory on the host: what it has, by path. Directories end in "/".
type tree map[string]gitrules.Kind

func treeOf(paths ...string) tree {
	t := tree{}
	for _, path := range paths {
		name, dir := strings.CutSuffix(path, "/")
		t[name] = gitrules.File
		if dir {
			t[name] = gitrules.Dir
		}
		for i := range len(name) {
			if name[i] == '/' {
				t[name[:i]] = gitrules.Dir
			}
		}
	}
	return t
}

// repository is an ordinary one, with a linked work tree and two modules of which one
// is in the other.
var repository = treeOf("HEAD", "config", "description", "index", "hooks/pre-commit.sample", "hooks/pre-push", "info/exclude",
	"info/attributes", "objects/info/alternates", "objects/pack/", "objects/0f/", "refs/heads/main", "logs/HEAD", "logs/refs/heads/main",
	"worktrees/wt/HEAD", "worktrees/wt/commondir", "worktrees/wt/gitdir", "worktrees/wt/index", "worktrees/wt/logs/HEAD",
	"modules/libs/deep/HEAD", "modules/libs/deep/config", "modules/libs/deep/objects/", "modules/libs/deep/refs/heads/",
	"modules/libs/deep/hooks/", "modules/libs/deep/modules/in/HEAD", "modules/libs/deep/modules/in/config",
	"modules/libs/deep/modules/in/objects/", "modules/libs/deep/modules/in/refs/", "branches/", "remotes/origin",
	"svn/metadata", "rebase-merge/git-rebase-todo")

// decide walks to the path's directory and decides about its last name.
func (t tree) decide(path string, own gitrules.Kind) gitrules.Decision {
	return t.from(gitrules.Main, path, own)
}

// from is decide for a git directory of another kind. The workspace's own work tree is wt.
func (t tree) from(place gitrules.Place, path string, own gitrules.Kind) gitrules.Decision {
	at := ""
	names := strings.Split(path, "/")
	for _, name := range names[:len(names)-1] {
		host := t[at+name]
		place = judges(place, name)
		d := gitrules.Decide(place, name, host, gitrules.Dir)
		at += name + "/"
		prefix := at
		place = gitrules.Enter(place, name, d.Class, func(n string) gitrules.Kind { return t[prefix+n] })
	}
	name := names[len(names)-1]
	return gitrules.Decide(judges(place, name), name, t[path], own)
}

func judges(place gitrules.Place, name string) gitrules.Place {
	if place == gitrules.OtherTrees && name == "wt" {
		return gitrules.Worktrees
	}
	return place
}
