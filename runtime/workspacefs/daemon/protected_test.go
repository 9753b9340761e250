package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// These are tests of unexported parts: from outside they show in a sandbox only.

// world makes a workspace of files; a value "-> x" is a link to x.
func world(t *testing.T, files map[string]string) (tree, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "dev", "tree")
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return tree{dir}, root
}

func TestWhatTheConfigurationNamesIsProtected(t *testing.T) {
	t.Parallel()
	const work = "@" // stands for the workspace's path
	for what, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":           {map[string]string{".git/config": "[core]\nbare=false\n"}, nil},
		"G13 an include":    {map[string]string{".git/config": "[include]\npath=../build/gitconfig\n", "build/gitconfig": ""}, []string{"build/gitconfig"}},
		"G13 on conditions": {map[string]string{".git/config": "[includeIf \"gitdir:x\"]\npath=../a\n"}, []string{"a"}},
		"by its full path":  {map[string]string{".git/config": "[include]\npath=" + work + "/a\n"}, []string{"a"}},
		"below the home":    {map[string]string{".git/config": "[include]\npath=~/tree/a/b\n[include]\npath=~/dev/tree/c\n[include]\npath=~/other/d\n"}, []string{"a/b", "c"}},
		"an include of an include": {map[string]string{".git/config": "[include]\npath=../a/one\n", "a/one": "[include]\npath=two\n", "a/two": "[include]\npath=one\n"},
			[]string{"a/one", "a/two"}},
		"G14 hooks": {map[string]string{".git/config": "[core]\nhooksPath=tools/hooks\n"}, []string{"tools/hooks"}},
		"outside":   {map[string]string{".git/config": "[include]\npath=/etc/gitconfig\n[include]\npath=../../x\n[core]\nhooksPath=../y\n"}, nil},
		"a link to another file": {map[string]string{".git/config": "[include]\npath=../link\n", "link": "-> sub/real", "sub/real": ""},
			[]string{"link", "sub/real"}},
		"a link on the way": {map[string]string{".git/config": "[include]\npath=../dir/a\n", "dir": "-> real/deep", "real/deep/a": ""}, []string{"dir", "real/deep/a"}},
		"a link up and out": {map[string]string{".git/config": "[include]\npath=../dir/a\n", "dir": "-> ../../.."}, []string{"dir"}},
		"a link in circles": {map[string]string{".git/config": "[include]\npath=../a\n", "a": "-> b", "b": "-> a"}, []string{"a", "b"}},
		"a broken file":     {map[string]string{".git/config": "[include\npath=../a\n"}, nil},
	} {
		host, root := world(t, c.files)
		if config := filepath.Join(root, ".git/config"); strings.Contains(c.files[".git/config"], work) {
			if err := os.WriteFile(config, []byte(strings.ReplaceAll(c.files[".git/config"], work, root)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := protected(host, root, ""); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestTheHostIsReadWithoutFollowing(t *testing.T) {
	t.Parallel()
	host, root := world(t, map[string]string{"file": "text", "link": "-> file", "dir/x": "y", "away": "-> /etc"})
	if b, err := host.read("file", 2); err != nil || string(b) != "te" {
		t.Errorf("%q, %v", b, err)
	}
	for _, name := range []string{"link", "dir", "none", "away/passwd", "../tree/file", "/etc/passwd", "file/x"} {
		if b, err := host.read(name, 100); err == nil {
			t.Errorf("read %q: %q", name, b)
		}
	}
	for name, want := range map[string]route.Kind{"file": route.File, "link": route.Symlink, "dir": route.Dir, "": route.Dir,
		"none": route.None, "away/passwd": route.None, "..": route.None} {
		if got := host.look(name); got != want {
			t.Errorf("%q in %s is %d, want %d", name, root, got, want)
		}
	}
}

func TestNamesOfAGitDirectoryOutside(t *testing.T) {
	t.Parallel()
	o := outside{admin: "worktrees/x"}
	for below, want := range map[string]string{
		"worktrees/x/index": "//git/index", "info/exclude": "//git/info/exclude",
		"index": "//git/other//index", "worktrees/y/index": "//git/other/worktrees/y/index",
	} {
		if got := o.name(below); got != want {
			t.Errorf("%q is %q, want %q", below, got, want)
		}
	}
	if got := (outside{}).name("index"); got != "//git/index" {
		t.Errorf("a repository's own index is %q", got)
	}
	host, _ := world(t, map[string]string{"worktrees/x/index": "mine", "index": "main's", "info/exclude": "x"})
	for name, want := range map[string]string{"//git/index": "mine", "//git/info/exclude": "x"} {
		if got, err := o.reader(host)(name, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
