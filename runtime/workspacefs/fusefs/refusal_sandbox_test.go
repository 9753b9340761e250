//go:build sandbox

package fusefs_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// write opens path for writing and writes. Where the view does not answer OPEN, only
// the second fails.
func write(path string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("X")
	return err
}

// refusals are acts on a name of a directory that holds what populate puts there. Each
// is done on a name that is protected, and must be refused, and on plain, and must
// succeed.
var refusals = []struct {
	what string
	act  func(dir, name string) error
	// With which error the act fails on a read-only file, and on an absent name; 0
	// where it makes no sense.
	readOnly, absent unix.Errno
}{
	{"write", func(d, n string) error { return write(d+"/"+n, 0) }, unix.EROFS, 0},
	{"append", func(d, n string) error { return write(d+"/"+n, os.O_APPEND) }, unix.EROFS, 0},
	{"overwrite", func(d, n string) error { return write(d+"/"+n, os.O_TRUNC) }, unix.EROFS, 0},
	{"truncate", func(d, n string) error { return unix.Truncate(d+"/"+n, 1) }, unix.EROFS, 0},
	{"chmod", func(d, n string) error { return unix.Chmod(d+"/"+n, 0o755) }, unix.EROFS, 0},
	{"utimes", func(d, n string) error { return unix.Utimes(d+"/"+n, make([]unix.Timeval, 2)) }, unix.EROFS, 0},
	{"setxattr", func(d, n string) error { return unix.Setxattr(d+"/"+n, "user.x", []byte("1"), 0) }, unix.EROFS, 0},
	{"fallocate", func(d, n string) error { return allocate(d + "/" + n) }, unix.EROFS, 0},
	{"link from", func(d, n string) error { return unix.Link(d+"/"+n, d+"/linked."+n) }, unix.EROFS, 0},
	{"unlink", func(d, n string) error { return unix.Unlink(d + "/" + n) }, unix.EBUSY, 0},
	{"rename away", func(d, n string) error { return unix.Rename(d+"/"+n, d+"/moved") }, unix.EBUSY, 0},
	{"rename over", func(d, n string) error { return unix.Rename(d+"/other", d+"/"+n) }, unix.EBUSY, unix.EROFS},
	{"exchange", func(d, n string) error { return exchange(d+"/"+n, d+"/other") }, unix.EBUSY, 0},
	{"exchange the other way", func(d, n string) error { return exchange(d+"/other", d+"/"+n) }, unix.EBUSY, 0},
	{"create", func(d, n string) error { return write(d+"/"+n, os.O_CREATE|os.O_EXCL) }, unix.EEXIST, unix.EROFS},
	{"mkdir", func(d, n string) error { return unix.Mkdir(d+"/"+n, 0o755) }, unix.EEXIST, unix.EROFS},
	{"symlink", func(d, n string) error { return unix.Symlink("x", d+"/"+n) }, unix.EEXIST, unix.EROFS},
	{"mknod", func(d, n string) error { return unix.Mknod(d+"/"+n, unix.S_IFREG|0o644, 0) }, unix.EEXIST, unix.EROFS},
	{"link to", func(d, n string) error { return unix.Link(d+"/other", d+"/"+n) }, unix.EEXIST, unix.EROFS},
}

func allocate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), 0, 0, 100)
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// The names a fakeRouter protects, and what reaches them: through the tree, and where
// the git view shows them.
func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.what, func(t *testing.T) {
			w := newWorld(t)
			for _, name := range []string{"ro", "secret", "plain", "other"} {
				put(t, w.host+"/d/"+name, "text")
			}
			put(t, w.host+"/d/absent", "the host's")
			if r.readOnly != unix.EEXIST {
				if err := r.act(w.tree+"/d", "plain"); err != nil {
					t.Errorf("an ordinary file: %v", err)
				}
			}
			if r.absent != 0 {
				put(t, w.host+"/d/other", "text")
				w.fs.InvalidateAll()
				if err := r.act(w.tree+"/d", "fresh"); err != nil {
					t.Errorf("an ordinary new name: %v", err)
				}
				put(t, w.host+"/d/other", "text")
				w.fs.InvalidateAll()
				refused(t, r.act(w.tree+"/d", "absent"), r.absent)
				refused(t, r.act(w.tree+"/d", "ronew"), r.absent)
			}
			for _, name := range []string{"ro", "secret"} {
				put(t, w.host+"/d/other", "text")
				w.fs.InvalidateAll()
				refused(t, r.act(w.tree+"/d", name), r.readOnly)
			}
			same(t, w.host+"/d/ro", "text")
			same(t, w.host+"/d/secret", "text")
			same(t, w.host+"/d/absent", "the host's")
			if _, err := os.Lstat(w.host + "/d/ronew"); !errors.Is(err, unix.ENOENT) {
				t.Errorf("made on the host: %v", err)
			}
		})
	}
}

func refused(t *testing.T, err error, want unix.Errno) {
	t.Helper()
	if want == 0 && err == nil {
		return
	}
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestStandInShowsNothing(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/secret.env", "PASSWORD=1")
	same(t, w.tree+"/secret.env", "")
	info, err := os.Stat(w.tree + "/secret.env")
	must(t, err)
	if info.Size() != 0 || info.Mode() != 0o444 {
		t.Errorf("%v, %d bytes", info.Mode(), info.Size())
	}
	put(t, w.tree+"/secret.new", "inside")
	same(t, w.held+"/secret.new", "inside")
}

func TestAbsentIsNotListed(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/absent.toml", "x")
	put(t, w.host+"/seen", "x")
	if _, err := os.Lstat(w.tree + "/absent.toml"); !errors.Is(err, unix.ENOENT) {
		t.Error(err)
	}
	if got := names(t, w.tree); len(got) != 1 || got[0] != "seen" {
		t.Errorf("listed %q", got)
	}
}

func names(tb testing.TB, dir string) (list []string) {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	must(tb, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// A file that moves between classes is copied, so that it is judged anew.
func TestNoRenameAcrossClasses(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/plain", "x")
	put(t, w.tree+"/held", "x")
	put(t, w.tree+"/transient", "x")
	for _, r := range [][2]string{{"plain", "held2"}, {"held", "plain2"}, {"held", "transient2"}, {"transient", "plain2"}, {"held", "plain"}} {
		refused(t, unix.Rename(w.tree+"/"+r[0], w.tree+"/"+r[1]), unix.EXDEV)
		refused(t, unix.Link(w.tree+"/"+r[0], w.tree+"/linked."+r[1]), linkRefusal(r))
	}
	must(t, unix.Rename(w.tree+"/plain", w.tree+"/plain2"))
	must(t, unix.Rename(w.tree+"/held", w.tree+"/held2"))
	must(t, unix.Rename(w.tree+"/transient", w.tree+"/transient2"))
	same(t, w.held+"/held2", "x")
}

// linkRefusal is what a link to "linked.…", an ordinary name, is refused with.
func linkRefusal(r [2]string) unix.Errno {
	if r[0] == "plain" {
		return 0
	}
	return unix.EXDEV
}

func TestRenameOfDirectories(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/good/a/b", "x")
	must(t, unix.Rename(w.tree+"/good", w.tree+"/better"))
	same(t, w.tree+"/better/a/b", "x")

	for _, below := range []struct {
		name string
		want unix.Errno
	}{{"a/ro", unix.EXDEV}, {"a/held", unix.EXDEV}, {"a/secret", unix.EXDEV}, {"a/absent", unix.EXDEV}, {"a/pinned", unix.EBUSY}, {".git/HEAD", unix.EBUSY}} {
		put(t, w.host+"/dir"+below.name[2:]+"/x/"+below.name, "x")
		refused(t, unix.Rename(w.tree+"/dir"+below.name[2:], w.tree+"/moved"), below.want)
	}
	put(t, w.host+"/pinneddir/x", "x")
	refused(t, unix.Rename(w.tree+"/pinneddir", w.tree+"/moved"), unix.EBUSY)
	refused(t, os.RemoveAll(w.tree+"/pinneddir"), unix.EBUSY)

	put(t, w.host+"/own/a/file", "x")
	must(t, os.Mkdir(w.tree+"/own/a/held.empty", 0o755))
	refused(t, unix.Rename(w.tree+"/own", w.tree+"/moved"), unix.EXDEV)
	must(t, os.Remove(w.tree+"/own/a/held.empty"))
	must(t, unix.Rename(w.tree+"/own", w.tree+"/moved"))
	if got := names(t, w.held); len(got) != 0 {
		t.Errorf("left in Domain storage: %q", got)
	}
}

func TestGitVerdicts(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/.git/HEAD", "ref")
	put(t, w.host+"/.git/refs/heads/main", "x")
	git := w.tree + "/.git"
	put(t, w.host+"/link.target", "x")
	refused(t, unix.Symlink("x", git+"/refs/link"), unix.EROFS)
	refused(t, unix.Link(git+"/HEAD", git+"/refs/link"), unix.EROFS)
	refused(t, unix.Link(w.tree+"/link.target", git+"/refs/link"), unix.EROFS)
	refused(t, unix.Mkfifo(git+"/refs/fifo", 0o600), unix.EROFS)
	must(t, unix.Symlink("x", w.tree+"/link"))
	refused(t, unix.Rename(w.tree+"/link", git+"/refs/link"), unix.EROFS)
	refused(t, unix.Rename(git, w.tree+"/g"), unix.EBUSY)
	put(t, git+"/refs/heads/new.lock", "y")
	must(t, unix.Rename(git+"/refs/heads/new.lock", git+"/refs/heads/new"))
	same(t, w.host+"/.git/refs/heads/new", "y")
}

func TestKindsOfNewFiles(t *testing.T) {
	w := newWorld(t)
	refused(t, unix.Mkfifo(w.tree+"/fifo", 0o600), unix.EPERM)
	refused(t, unix.Mknod(w.tree+"/socket", unix.S_IFSOCK|0o600, 0), unix.EPERM)
	must(t, unix.Mkfifo(w.tree+"/held.fifo", 0o600))
	must(t, unix.Mknod(w.tree+"/file", unix.S_IFREG|0o600, 0))
	refused(t, unix.Chmod(w.tree+"/file", 0o4755), unix.EPERM)
	must(t, unix.Mkdir(w.tree+"/dir", 0o755))
	must(t, unix.Chmod(w.tree+"/dir", 0o2755))
}

func TestFilesWithOtherNames(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/a", "text")
	must(t, os.Link(w.host+"/a", w.host+"/b"))
	refused(t, write(w.tree+"/a", 0), unix.EROFS)
	refused(t, unix.Truncate(w.tree+"/b", 0), unix.EROFS)
	same(t, w.host+"/a", "text")

	put(t, w.host+"/own", "text")
	must(t, os.Link(w.tree+"/own", w.tree+"/own2"))
	must(t, write(w.tree+"/own", 0))
	same(t, w.host+"/own2", "Xext")
	must(t, os.Link(w.host+"/own", w.host+"/theirs")) // now there is a name nobody knows
	refused(t, write(w.tree+"/own", 0), unix.EROFS)
	must(t, os.Remove(w.host+"/theirs"))
	must(t, os.Remove(w.tree+"/own2"))
	must(t, write(w.tree+"/own", 0))
}

// When the rules change, what is open already is judged anew.
func TestChangedRulesApplyToWhatIsOpen(t *testing.T) {
	w := newWorld(t)
	w.router.open.Store(true)
	put(t, w.host+"/ro", "text")
	put(t, w.host+"/secret", "text")
	f, err := os.OpenFile(w.tree+"/ro", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("T")
	must(t, err)
	same(t, w.tree+"/secret", "text")
	w.router.open.Store(false)
	w.router.generation.Add(1)
	_, err = f.WriteString("X")
	refused(t, err, unix.EROFS)
	w.fs.InvalidateAll()
	same(t, w.tree+"/secret", "")
}

var _ route.Router = (*fakeRouter)(nil)
