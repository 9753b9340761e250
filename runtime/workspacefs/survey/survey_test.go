package survey_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
	"lazaret.dev/lazaret/runtime/workspacefs/survey"
)

// A disk is a Host below a directory.
type disk struct{ root *os.Root }

func (d disk) Lstat(path string) (survey.Entry, error) {
	info, err := d.root.Lstat(path)
	if err != nil {
		return survey.Entry{}, err
	}
	return survey.Entry{Name: info.Name(), Kind: kindOf(info.Mode()), Links: uint64(info.Sys().(*syscall.Stat_t).Nlink)}, nil
}

func (d disk) ReadDir(path string, limit int) ([]survey.Entry, error) {
	f, err := d.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	entries := make([]survey.Entry, 0, len(list))
	for _, e := range list[:min(limit, len(list))] {
		entries = append(entries, survey.Entry{Name: e.Name(), Kind: kindOf(e.Type())})
	}
	return entries, err
}

func (d disk) ReadFile(path string, _ int64) ([]byte, error) { return d.root.ReadFile(path) }
func (d disk) ReadLink(path string) (string, error)          { return d.root.Readlink(path) }

func kindOf(mode fs.FileMode) route.Kind {
	switch mode.Type() {
	case 0:
		return route.File
	case fs.ModeDir:
		return route.Dir
	case fs.ModeSymlink:
		return route.Symlink
	}
	return route.Other
}

// repository makes one with a linked work tree and submodules, changed by a list of
// "path", "path -> target" (a link), "path = other" (a hard link), "path: content".
func repository(t *testing.T, changes ...string) disk {
	t.Helper()
	dir := t.TempDir()
	usual := []string{".git/HEAD", ".git/config", ".git/index", ".git/objects/3a/x", ".git/objects/info/packs", ".git/refs/heads/main",
		".git/info/exclude", ".git/hooks/pre-commit", ".git/worktrees/wt/HEAD", ".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir",
		".git/modules/libs/deep/HEAD", ".git/modules/libs/deep/config", ".git/modules/libs/deep/objects/3a/x",
		".git/modules/libs/deep/modules/in/HEAD", "src/main.go", "secret"}
	for _, change := range append(usual, changes...) {
		apply(t, dir, change)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return disk{root}
}

func apply(t *testing.T, dir, change string) {
	t.Helper()
	var err error
	at := func(name string) string {
		full := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(full), 0o700))
		return full
	}
	if name, target, ok := strings.Cut(change, " -> "); ok {
		err = errors.Join(os.RemoveAll(at(name)), os.Symlink(target, at(name)), err)
	} else if name, other, ok := strings.Cut(change, " = "); ok {
		err = errors.Join(os.RemoveAll(at(name)), os.Link(at(other), at(name)), err)
	} else {
		name, content, _ := strings.Cut(change, ": ")
		if strings.HasPrefix(content, "gitdir") || content == "file" {
			err = os.RemoveAll(at(name))
		}
		err = errors.Join(err, os.WriteFile(at(name), []byte(content), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestG04G16HostileGitDirectories(t *testing.T) {
	t.Parallel()
	for _, change := range []string{
		".git -> elsewhere", ".git/objects -> /etc", ".git/objects/3a -> ../../secret", ".git/HEAD -> refs/heads/main", ".git/config -> ../secret",
		".git/config = src/hard", ".git/index = src/hard", ".git/refs -> /etc", ".git/hooks -> ../src", ".git/info -> x", ".git/info/exclude -> /etc/passwd",
		".git/worktrees -> x", ".git/worktrees/evil -> /etc", ".git/worktrees/wt/gitdir -> /etc/passwd", ".git/worktrees/wt/commondir -> x",
		".git/worktrees/wt/commondir = src/hard", ".git/modules -> x", ".git/modules/evil -> x", ".git/modules/libs/deep/objects -> /etc",
		".git/modules/libs/deep/config -> /etc/passwd", ".git/modules/libs/deep/modules/in/objects -> x", ".git/objects: file", ".git: file",
	} {
		changes := []string{change}
		if strings.Contains(change, " = ") {
			changes = []string{"src/hard", change}
		}
		_, err := survey.Workspace(repository(t, changes...))
		name := strings.FieldsFunc(change, func(r rune) bool { return r == ' ' || r == ':' })[0]
		if fault.KindOf(err) != fault.Workspace || fault.FixOf(err) == "" || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestHarmlessGitDirectories(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"other", "src/link -> /etc/passwd", "src/hard = secret", ".git/hooks/post-merge -> /usr/bin/true",
		".git/modules/libs/README", ".git/refs/remotes/origin/HEAD", ".git/objects/info/alternates: /elsewhere"} {
		facts, err := survey.Workspace(repository(t, change))
		if err != nil || facts.GitDir != ".git" || facts.Outside != "" || len(facts.Runs) != 0 {
			t.Errorf("%s: %+v, %v", change, facts, err)
		}
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if facts, err := survey.Workspace(disk{root}); err != nil || facts.GitDir != "" {
		t.Errorf("no repository: %+v, %v", facts, err)
	}
}

func TestG23Pointers(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]survey.Facts{
		"gitdir: /repo/.git/worktrees/x\n": {Outside: "/repo/.git/worktrees/x"},
		"gitdir: ../.git/modules/x\n":      {Outside: "../.git/modules/x"},
		"gitdir: src/../../x":              {Outside: "../x"},
		"gitdir: .repo":                    {GitDir: ".repo"},
	} {
		facts, err := survey.Workspace(repository(t, ".git: "+content, ".repo/HEAD", ".repo/objects/3a/x"))
		if err != nil || facts.GitDir != want.GitDir || facts.Outside != want.Outside {
			t.Errorf("%q: %+v, %v", content, facts, err)
		}
	}
	for _, changes := range [][]string{{".git: gitdir: "}, {".git: gitdir: .repo", ".repo -> /etc"}, {".git: gitdir: a/b", "a -> src"}, {".git: gitdirx"}} {
		if _, err := survey.Workspace(repository(t, changes...)); fault.KindOf(err) != fault.Workspace {
			t.Errorf("%q: %v", changes, err)
		}
	}
}

func TestG14LinkedHooks(t *testing.T) {
	t.Parallel()
	facts, err := survey.Workspace(repository(t, ".git/hooks/pre-push -> ../../tools/lint.sh", ".git/hooks/x -> pre-commit",
		".git/modules/libs/deep/hooks/post-merge -> ../../../../../src/main.go", ".git/hooks/y -> ../../../outside"))
	slices.Sort(facts.Runs)
	if err != nil || !slices.Equal(facts.Runs, []string{"src/main.go", "tools/lint.sh"}) {
		t.Errorf("got %+v, %v", facts, err)
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	deep := ".git/modules" + strings.Repeat("/a", 40) + "/HEAD"
	if _, err := survey.Workspace(repository(t, deep)); fault.KindOf(err) != fault.Workspace {
		t.Errorf("deep modules: %v", err)
	}
}
