//go:build sandbox

package fusefs_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestGitViewRoot(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/.git/config", "[core]")
	put(t, w.host+"/sub/.git/HEAD", "ref")
	put(t, w.host+"/file", "x")
	must(t, os.Symlink(".git", w.host+"/link"))
	w.mountGit(t)
	for i, path := range []string{".git", "sub/.git", ""} {
		if id, err := w.fs.AddGitDir(path); id != i || err != nil {
			t.Errorf("%q: %d, %v", path, id, err)
		}
	}
	for _, path := range []string{"none", "file", "file/x", "link", "sub/none/x", "..", ".git/.."} {
		if id, err := w.fs.AddGitDir(path); err == nil {
			t.Errorf("%q: %d", path, id)
		}
	}
	if got := names(t, w.git); len(got) != 3 || got[0] != "0" || got[2] != "2" {
		t.Errorf("listed %q", got)
	}
	same(t, w.git+"/1/HEAD", "ref")
	same(t, w.git+"/2/file", "x")
	for _, name := range []string{"3", "00", "-1", "x"} {
		if _, err := os.Stat(w.git + "/" + name); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused(t, unix.Mkdir(w.git+"/3", 0o755), unix.EROFS)
	refused(t, unix.Rmdir(w.git+"/1"), unix.EBUSY)
	refused(t, unix.Rename(w.git+"/1", w.git+"/9"), unix.EBUSY)
	refused(t, unix.Rename(w.git+"/1/HEAD", w.git+"/9"), unix.EBUSY)
	refused(t, unix.Chmod(w.git, 0o777), unix.EROFS)
}

// With OPEN answered, what may not be written cannot be opened for writing, and what
// may is written, cached and seen through the tree's view as well.
func TestGitViewOpens(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/.git/config", "[core]")
	put(t, w.host+"/.git/index", "old")
	_, err := w.fs.AddGitDir(".git")
	must(t, err)
	w.mountGit(t)
	git := w.git + "/0"
	for _, flags := range []int{unix.O_WRONLY, unix.O_RDWR, unix.O_WRONLY | unix.O_APPEND, unix.O_WRONLY | unix.O_TRUNC} {
		fd, err := unix.Open(git+"/config", flags|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		refused(t, err, unix.EROFS)
	}
	same(t, git+"/config", "[core]")
	refused(t, unix.Setxattr(git+"/index", "user.x", []byte("1"), 0), unix.EOPNOTSUPP)
	must(t, os.WriteFile(git+"/index.lock", []byte("new"), 0o644))
	must(t, os.Rename(git+"/index.lock", git+"/index"))
	same(t, w.host+"/.git/index", "new")
	same(t, git+"/index", "new")
	refused(t, unix.Link(git+"/index", git+"/index2"), unix.EROFS)
}
