package state_test

import (
	"crypto/sha1"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// A git directory made inside works on the host, with nothing in it that runs.
func TestAcceptAGitDirectory(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		w := newWorld(t)
		dir := w.heldRepository()
		canary := filepath.Join(w.elsewhere, "canary")
		hook := w.write(dir, "hooks/post-checkout", "#!/bin/sh\ntouch "+canary+"\n", 0o755)
		w.must(os.Chmod(hook, 0o755))
		w.write(dir, "info/attributes", "* filter=x\n", 0o644)
		w.write(dir, "rebase-merge/git-rebase-todo", "exec touch "+canary+"\n", 0o644)
		w.write(dir, "worktrees/w/gitdir", "/x\n", 0o644)
		w.write(dir, "commondir", "/evil\n", 0o644)
		f, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
		w.must(err)
		_, err = f.WriteString("[core]\n\tfsmonitor = touch " + canary + "\n\tpager = evil\n[filter \"x\"]\n\tsmudge = touch " + canary + "\n[include]\n\tpath = x\n")
		w.must(err)
		f.Close()

		item, err := w.plan("sub/.git", state.Options{Running: running})
		w.must(err)
		want := []string{"commondir", "config: core.fsmonitor", "config: core.pager", "config: filter.x.smudge", "config: include.path", "hooks/", "info/", "rebase-merge/", "worktrees/"}
		for _, name := range want {
			if !slices.Contains(item.Vetted[0].Dropped, name) {
				t.Errorf("%q is not told among %q", name, item.Vetted[0].Dropped)
			}
		}
		w.must(state.Apply(t.Context(), w.place, item, state.Options{Running: running}))
		sub := filepath.Join(w.tree, "sub")
		if got := w.git(sub, "status", "--porcelain"); got != "" {
			t.Errorf("status: %s", got)
		}
		w.git(sub, "fsck", "--strict")
		w.git(sub, "checkout", "-q", "-b", "next")
		if got := w.git(sub, "describe", "--tags"); strings.TrimSpace(got) != "v1" {
			t.Errorf("describe: %s", got)
		}
		if got := w.git(sub, "remote", "get-url", "origin"); strings.TrimSpace(got) != "https://example.org/x.git" {
			t.Errorf("remote: %s", got)
		}
		w.gone(canary)
		w.gone(dir)
		w.tidy()
	}
}

// TestVetRefuses: the same repository without the defect is accepted above.
func TestVetRefuses(t *testing.T) {
	t.Parallel()
	config := func(text string) func(w *world, dir string) error {
		return func(w *world, dir string) error {
			w.write(dir, "config", "[core]\n\trepositoryformatversion = 0\n"+text, 0o644)
			return nil
		}
	}
	file := func(at, text string) func(w *world, dir string) error {
		return func(w *world, dir string) error { w.write(dir, at, text, 0o644); return nil }
	}
	for name, spoil := range map[string]func(w *world, dir string) error{
		"":                func(*world, string) error { return nil },
		"alternates":      file("objects/info/alternates", "/srv/objects\n"),
		"http alternates": file("objects/info/http-alternates", "x\n"),
		"promisor pack":   file("objects/pack/pack-x.promisor", ""),
		"partial clone":   config("[extensions]\n\tpartialClone = origin\n"),
		"promisor remote": config("[remote \"origin\"]\n\tpromisor = true\n"),
		"reftable":        config("[extensions]\n\trefStorage = reftable\n"),
		"bare":            config("\tbare = true\n"),
		"broken config":   config("[core\n"),
		"HEAD is a path":  file("HEAD", "ref: ../../x\n"),
		"HEAD is huge":    file("HEAD", strings.Repeat("a", 5000)),
		"ref is text":     file("refs/heads/x", "hello\n"),
		"packed refs":     file("packed-refs", "x y z\n"),
		"shallow":         file("shallow", "zz\n"),
		"HEAD is a link": func(_ *world, dir string) error {
			os.Remove(dir + "/HEAD")
			return os.Symlink("/etc/passwd", dir+"/HEAD")
		},
		"HEAD is a FIFO": func(_ *world, dir string) error { os.Remove(dir + "/HEAD"); return unix.Mkfifo(dir+"/HEAD", 0o644) },
		"objects are a link": func(w *world, dir string) error {
			os.RemoveAll(dir + "/objects")
			return os.Symlink(w.elsewhere, dir+"/objects")
		},
		"HEAD is missing":   func(_ *world, dir string) error { return os.Remove(dir + "/HEAD") },
		"config is missing": func(_ *world, dir string) error { return os.Remove(dir + "/config") },
		"hard link": func(w *world, dir string) error {
			at := w.write(w.elsewhere, "o", "x", 0o644)
			return os.Link(at, dir+"/objects/pack/pack-"+strings.Repeat("a", 40)+".pack")
		},
	} {
		w := newWorld(t)
		dir := w.heldRepository()
		w.must(spoil(w, dir))
		_, err := w.plan("sub/.git", state.Options{})
		if name == "" {
			w.must(err)
			continue
		}
		refused(t, name, err)
	}
}

func TestVetLeavesAnUnsoundIndex(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(string) string{
		"noise":           func(string) string { return "DIRC nonsense" },
		"untracked cache": func(index string) string { return extended(index, "UNTR\x00\x00\x00\x00") },
		"offset table":    func(index string) string { return extended(index, "IEOT\x00\x00\x00\x00") },
	} {
		w := newWorld(t)
		dir := w.heldRepository()
		index, err := os.ReadFile(filepath.Join(dir, "index"))
		w.must(err)
		w.write(dir, "index", spoil(string(index)), 0o644)
		w.must(w.accept("sub/.git", state.Options{}))
		if _, err := os.Lstat(filepath.Join(w.tree, "sub/.git/index")); err == nil {
			t.Errorf("%s: taken", name)
		}
		w.git(filepath.Join(w.tree, "sub"), "reset", "-q")
	}
}

// extended is an index with one more extension at its end.
func extended(index, extension string) string {
	body := index[:len(index)-sha1.Size] + extension
	sum := sha1.Sum([]byte(body))
	return body + string(sum[:])
}

// A git directory below an accepted directory is vetted like one by itself.
func TestVetNested(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.heldRepository(), "hooks/pre-commit", "x", 0o755)
	w.write(w.held, "sub/file", "x", 0o644)
	w.must(os.RemoveAll(filepath.Join(w.tree, "sub")))
	item, err := w.plan("sub", state.Options{})
	w.must(err)
	if len(item.Vetted) != 1 || string(item.Vetted[0].Path) != ".git" {
		t.Fatalf("%+v", item.Vetted)
	}
	w.must(w.accept("sub", state.Options{}))
	w.gone(filepath.Join(w.tree, "sub/.git/hooks"))
	w.git(filepath.Join(w.tree, "sub"), "fsck")
}
