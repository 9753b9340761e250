//go:build sandbox

package fusefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

func TestOpenFilesOutliveTheirNames(t *testing.T) {
	for _, budget := range []int{0, 16} { // with the smallest one, descriptors are evicted all the time
		w := newWorld(t, func(c *fusefs.Config) { c.Descriptors = budget })
		put(t, w.tree+"/file", "before")
		put(t, w.tree+"/over", "replaced")
		f, err := os.OpenFile(w.tree+"/file", os.O_RDWR, 0)
		must(t, err)
		g, err := os.Open(w.tree + "/over")
		must(t, err)
		must(t, os.Remove(w.tree+"/file"))
		put(t, w.tree+"/new", "new")
		must(t, os.Rename(w.tree+"/new", w.tree+"/over"))
		for i := range 200 {
			put(t, fmt.Sprintf("%s/d%d/x", w.tree, i%40), "x")
		}
		_, err = f.WriteAt([]byte("AFTER"), 3)
		must(t, err)
		must(t, f.Truncate(7))
		content := make([]byte, 20)
		n, _ := f.ReadAt(content, 0)
		if string(content[:n]) != "befAFTE" {
			t.Errorf("removed file: %q", content[:n])
		}
		n, _ = g.ReadAt(content, 0)
		if string(content[:n]) != "replaced" {
			t.Errorf("replaced file: %q", content[:n])
		}
		if info, err := f.Stat(); err != nil || info.Size() != 7 {
			t.Errorf("%v, %v", info, err)
		}
		f.Close()
		g.Close()
		same(t, w.host+"/over", "new")
	}
}

func TestLinks(t *testing.T) {
	w := newWorld(t)
	put(t, w.tree+"/a", "x")
	for i := range 3 {
		must(t, os.Link(w.tree+"/a", fmt.Sprintf("%s/l%d", w.tree, i)))
	}
	links(t, w.tree+"/a", 4)
	must(t, os.Remove(w.tree+"/a"))
	links(t, w.tree+"/l0", 3)
	must(t, write(w.tree+"/l1", 0))
	same(t, w.tree+"/l2", "X")
	must(t, os.Rename(w.tree+"/l1", w.tree+"/l2"))
	links(t, w.tree+"/l0", 3) // two names of one file: rename does nothing
	must(t, os.Symlink("l0", w.tree+"/s"))
	same(t, w.tree+"/s", "X")
	if target, err := os.Readlink(w.tree + "/s"); err != nil || target != "l0" {
		t.Errorf("%q, %v", target, err)
	}
}

func links(t *testing.T, path string, want int) {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	if int(st.Nlink) != want {
		t.Errorf("%s has %d links, want %d", path, st.Nlink, want)
	}
}

func TestAppendEndsWhereTheFileEnds(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/log", "one\n")
	f, err := os.OpenFile(w.tree+"/log", os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	must(t, appendTo(w.host+"/log", "host\n")) // not seen inside yet
	_, err = f.WriteString("two\n")
	must(t, err)
	same(t, w.host+"/log", "one\nhost\ntwo\n")
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func TestMapping(t *testing.T) {
	w := newWorld(t)
	put(t, w.tree+"/m", strings.Repeat("a", 10000))
	f, err := os.OpenFile(w.tree+"/m", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	copy(b[5000:], "MAPPED")
	must(t, unix.Msync(b, unix.MS_SYNC))
	must(t, unix.Munmap(b))
	content, err := os.ReadFile(w.host + "/m")
	must(t, err)
	if !bytes.Equal(content[4999:5007], []byte("aMAPPEDa")) || len(content) != 10000 {
		t.Errorf("%q of %d", content[4999:5007], len(content))
	}
}

func TestLargeFilesAreReadWhole(t *testing.T) {
	w := newWorld(t)
	content := make([]byte, 3<<20+777)
	for i := range content {
		content[i] = byte(i * 7 >> 8)
	}
	put(t, w.host+"/big", string(content))
	same(t, w.tree+"/big", string(content))
	put(t, w.tree+"/big2", string(content))
	same(t, w.host+"/big2", string(content))
	same(t, w.tree+"/big2", string(content))
}

func TestNames(t *testing.T) {
	w := newWorld(t)
	odd := []string{"\xff\xfe\x80", "new\nline", "back\\slash", strings.Repeat("n", 255), "-", "ä", " "}
	for _, name := range odd {
		put(t, w.tree+"/"+name, name)
		same(t, w.host+"/"+name, name)
	}
	if got := names(t, w.tree); len(got) != len(odd) {
		t.Errorf("listed %q", got)
	}
	err := os.WriteFile(w.tree+"/"+strings.Repeat("n", 256), nil, 0o644)
	refused(t, err, unix.ENAMETOOLONG)
}

func TestLargeDirectoryThatChangesWhileRead(t *testing.T) {
	w := newWorld(t)
	const count = 10_000
	must(t, os.Mkdir(w.host+"/big", 0o755))
	for i := range count {
		must(t, unix.Mknod(fmt.Sprintf("%s/big/%05d", w.host, i), unix.S_IFREG|0o644, 0))
	}
	d, err := os.Open(w.tree + "/big")
	must(t, err)
	defer d.Close()
	seen := map[string]int{}
	for i := 0; ; i++ {
		list, err := d.Readdirnames(100)
		for _, name := range list {
			seen[name]++
		}
		if err != nil {
			break
		}
		if i%10 == 0 { // others read from the start, names come and go
			names(t, w.tree+"/big")
			put(t, fmt.Sprintf("%s/big/new%d", w.tree, i), "")
			must(t, os.Remove(fmt.Sprintf("%s/big/%05d", w.tree, count-1-i)))
		}
	}
	for i := range count - 200 {
		if n := seen[fmt.Sprintf("%05d", i)]; n != 1 {
			t.Fatalf("%05d was listed %d times", i, n)
		}
	}
	for name, n := range seen {
		if n > 1 {
			t.Errorf("%s was listed %d times", name, n)
		}
	}
	must(t, os.RemoveAll(w.tree+"/big"))
}

func TestAttributes(t *testing.T) {
	w := newWorld(t)
	put(t, w.tree+"/f", "12345")
	must(t, os.Chmod(w.tree+"/f", 0o751))
	must(t, unix.Utimes(w.tree+"/f", []unix.Timeval{{Sec: 1000, Usec: 5}, {Sec: 2000, Usec: 6}}))
	var inside, outside unix.Stat_t
	must(t, unix.Stat(w.tree+"/f", &inside))
	must(t, unix.Stat(w.host+"/f", &outside))
	outside.Dev, outside.Blksize = inside.Dev, inside.Blksize
	if inside != outside {
		t.Errorf("inside %+v\nhost   %+v", inside, outside)
	}
	must(t, os.Mkdir(w.tree+"/d", 0o700))
	must(t, unix.Fchmodat(unix.AT_FDCWD, w.tree+"/d", 0o1777, 0))
	must(t, unix.Stat(w.host+"/d", &outside))
	if outside.Mode&0o7777 != 0o1777 {
		t.Errorf("mode %o", outside.Mode)
	}
}

func TestExtendedAttributes(t *testing.T) {
	w := newWorld(t)
	put(t, w.tree+"/f", "")
	if err := unix.Setxattr(w.host+"/f", "user.probe", []byte("1"), 0); errors.Is(err, unix.EOPNOTSUPP) {
		refused(t, unix.Setxattr(w.tree+"/f", "user.a", []byte("1"), 0), unix.EOPNOTSUPP)
		return // this host's file system has none
	}
	must(t, unix.Removexattr(w.host+"/f", "user.probe"))
	must(t, unix.Setxattr(w.tree+"/f", "user.a", []byte("value"), 0))
	buf := make([]byte, 100)
	n, err := unix.Getxattr(w.host+"/f", "user.a", buf)
	if err != nil || string(buf[:n]) != "value" {
		t.Errorf("%q, %v", buf[:max(n, 0)], err)
	}
	n, err = unix.Listxattr(w.tree+"/f", buf)
	if err != nil || string(buf[:n]) != "user.a\x00" {
		t.Errorf("%q, %v", buf[:max(n, 0)], err)
	}
	refused(t, unix.Setxattr(w.tree+"/f", "user.a", []byte("2"), unix.XATTR_CREATE), unix.EEXIST)
	must(t, unix.Removexattr(w.tree+"/f", "user.a"))
	_, err = unix.Getxattr(w.tree+"/f", "user.a", buf)
	refused(t, err, unix.ENODATA)
	if unix.Setxattr(w.tree+"/f", "trusted.a", []byte("2"), 0) == nil {
		t.Error("set an attribute that is not the user's")
	}
}

func TestHolesAndCopies(t *testing.T) {
	w := newWorld(t)
	f, err := os.Create(w.tree + "/sparse")
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(1<<20))
	_, err = f.WriteAt([]byte("data"), 512<<10)
	must(t, err)
	at, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_DATA)
	if err != nil || at < 500<<10 {
		t.Errorf("data at %d, %v", at, err)
	}
	must(t, unix.Fallocate(int(f.Fd()), 0, 1<<20, 1<<20))
	g, err := os.Create(w.tree + "/copy")
	must(t, err)
	defer g.Close()
	from := int64(512 << 10)
	n, err := unix.CopyFileRange(int(f.Fd()), &from, int(g.Fd()), nil, 4, 0)
	if n != 4 || err != nil {
		t.Errorf("copied %d, %v", n, err)
	}
	same(t, w.host+"/copy", "data")
	must(t, f.Sync())
	d, err := os.Open(w.tree)
	must(t, err)
	defer d.Close()
	must(t, d.Sync())
}

func TestStatfs(t *testing.T) {
	w := newWorld(t)
	var inside, outside unix.Statfs_t
	must(t, unix.Statfs(w.tree, &inside))
	must(t, unix.Statfs(w.host, &outside))
	if inside.Blocks != outside.Blocks || inside.Namelen != outside.Namelen {
		t.Errorf("inside %+v\nhost   %+v", inside, outside)
	}
}

// A file that was written inside can be executed on the host moments later.
func TestWrittenProgramsCanBeExecuted(t *testing.T) {
	w := newWorld(t)
	script, err := os.ReadFile("/bin/true")
	must(t, err)
	for range 20 {
		path := filepath.Join(w.tree, "program")
		must(t, os.WriteFile(path, script, 0o644))
		must(t, os.Chmod(path, 0o755))
		fd, err := unix.Open(w.host+"/program", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(t, err)
		// A lease for reading is refused exactly while somebody has the file open for writing.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		unix.Close(fd)
		must(t, err)
	}
}
