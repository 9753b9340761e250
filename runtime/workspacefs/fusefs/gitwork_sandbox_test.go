//go:build sandbox

package fusefs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// git runs git in dir, with nobody's configuration, and returns what it says.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*", "-c", "gc.auto=0",
		"-c", "core.untrackedCache=false", "-c", "core.splitIndex=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir),
		"GIT_EDITOR=true", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func gits(t *testing.T, dir string, commands ...[]string) {
	t.Helper()
	for _, c := range commands {
		if out, err := git(t, dir, c...); err != nil {
			t.Fatalf("git %q: %v: %s", c, err, out)
		}
	}
}

// gitRepository makes one with the host's git: a commit, and a linked work tree.
func gitRepository(t *testing.T) func(host string) {
	return func(host string) {
		t.Helper()
		put(t, host+"/a", "1\n")
		put(t, host+"/dir/b", "1\n")
		gits(t, host, []string{"init", "-q", "-b", "main"}, []string{"add", "-A"}, []string{"commit", "-qm", "1"},
			[]string{"worktree", "add", "-q", "../linked", "-b", "linked"})
	}
}

// The git work of a day succeeds inside, and the host's git sees what came of it.
func TestGitWorksWhereItsFilesAreVetted(t *testing.T) {
	w := ruled(t, gitRepository(t))
	in := w.tree
	change := func(name, text string) { put(t, in+"/"+name, text) }
	change("a", "2\n")
	gits(t, in, []string{"add", "a"}, []string{"commit", "-qm", "2"}, []string{"checkout", "-q", "-b", "topic", "HEAD~1"})
	change("dir/b", "2\n")
	change("new", "x")
	gits(t, in, []string{"add", "-A"}, []string{"commit", "-qm", "3"}, []string{"commit", "-q", "--amend", "-m", "three"})
	change("new", "y")
	gits(t, in, []string{"stash"}, []string{"stash", "pop"}, []string{"commit", "-qam", "4"}, []string{"rebase", "-q", "main"},
		[]string{"rebase", "-q", "--apply", "--onto", "main~1", "main"}, []string{"checkout", "-q", "main"},
		[]string{"merge", "-q", "--no-ff", "-m", "merge", "topic"}, []string{"tag", "v1"}, []string{"tag", "-a", "v2", "-m", "v2"},
		[]string{"branch", "a/b/c"}, []string{"pack-refs", "--all"},
		[]string{"cherry-pick", "--allow-empty", "--keep-redundant-commits", "topic"}, []string{"revert", "-m", "1", "--no-edit", "HEAD~1"},
		[]string{"rm", "-q", "a"}, []string{"reset", "-q", "--hard"}, []string{"notes", "add", "-m", "n"}, []string{"symbolic-ref", "refs/x/s", "refs/heads/main"},
		[]string{"gc", "-q"}, []string{"fsck"}, []string{"status"})
	w.fs.InvalidateAll()
	out, err := git(t, w.host, "status", "--porcelain")
	if err != nil || out != "" {
		t.Errorf("the host's git: %v: %s", err, out)
	}
	if out, err := git(t, w.host, "fsck"); err != nil {
		t.Errorf("the host's git: %v: %s", err, out)
	}
	gits(t, filepath.Dir(w.host)+"/linked", []string{"status"}, []string{"log", "-1"})
}

// What an index can have the host's git write is shown first, where nothing is in the
// way; then the same is refused on its way through the sandbox's side.
func TestHostileIndexesReachNoHost(t *testing.T) {
	const hook = "#!/bin/sh\ntouch canary\n"
	for _, guarded := range []bool{false, true} {
		w := ruled(t, gitRepository(t))
		side := w.tree
		if !guarded {
			side = w.host
		}
		put(t, side+"/hook", hook)
		gits(t, side, []string{"add", "hook"}, []string{"ls-files"})
		blob, err := git(t, side, "hash-object", "-w", "hook")
		must(t, err)
		for _, path := range []string{".git/hooks/pre-commit", "../canary"} {
			put(t, side+"/.git/index.lock", hostileIndex(t, path, blob))
			err := unix.Rename(side+"/.git/index.lock", side+"/.git/index")
			if guarded {
				refused(t, err, unix.EROFS)
				must(t, os.Remove(side+"/.git/index.lock"))
			}
			_, _ = git(t, w.host, "checkout", ".") // it may notice some of it
			made, err := os.ReadFile(filepath.Join(w.host, path))
			if guarded && err == nil {
				t.Errorf("written by the host's git: %q", path)
			}
			if !guarded && path[0] == '.' && path[1] == 'g' && string(made) != hook {
				t.Errorf("without the guard %q is not written: %v", path, err)
			}
		}
	}
}
