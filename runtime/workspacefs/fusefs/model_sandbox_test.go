//go:build sandbox

package fusefs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

// pair does everything twice: in the mounted tree and in an ordinary directory, and
// compares the answers.
type pair struct {
	roots [2]string
	files [][2]int // open in both
}

var modelNames = []string{"a", "b", "a/c", "a/d", "b/c", "a/c/e", "b/c/e", "a/held", "held", "held/x"}

func TestSameAsAnOrdinaryDirectory(t *testing.T) {
	w := newWorld(t, func(c *fusefs.Config) { c.Descriptors = 24 })
	plain, count := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		count++
		p := &pair{}
		for i, root := range []string{w.tree, plain} {
			p.roots[i] = fmt.Sprintf("%s/%d", root, count)
			must(t, os.Mkdir(p.roots[i], 0o755))
		}
		defer p.close()
		r.Repeat(p.steps())
	})
}

func (p *pair) steps() map[string]func(*rapid.T) {
	name := rapid.SampledFrom(modelNames)
	steps := map[string]func(*rapid.T){
		"":         p.compare,
		"openFile": func(r *rapid.T) { p.open(r, name.Draw(r, "name")) },
		"useFile":  p.use,
	}
	one := func(what string, act func(path string) error) {
		steps[what] = func(r *rapid.T) {
			n := name.Draw(r, "name")
			p.both(r, fmt.Sprint(what, " ", n), func(i int) error { return act(p.roots[i] + "/" + n) })
		}
	}
	one("create", func(path string) error { return write(path, os.O_CREATE|os.O_EXCL) })
	one("write", func(path string) error { return write(path, os.O_CREATE) })
	one("overwrite", func(path string) error { return write(path, os.O_CREATE|os.O_TRUNC) })
	one("append", func(path string) error { return write(path, os.O_APPEND) })
	one("truncate", func(path string) error { return unix.Truncate(path, 5) })
	one("mkdir", func(path string) error { return unix.Mkdir(path, 0o750) })
	one("rmdir", unix.Rmdir)
	one("unlink", unix.Unlink)
	one("symlink", func(path string) error { return unix.Symlink("../a", path) })
	one("chmod", func(path string) error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o711, 0) })
	two := func(what string, act func(from, to string) error) {
		steps[what] = func(r *rapid.T) {
			from, to := name.Draw(r, "from"), name.Draw(r, "to")
			p.both(r, fmt.Sprint(what, " ", from, " ", to), func(i int) error { return act(p.roots[i]+"/"+from, p.roots[i]+"/"+to) })
		}
	}
	two("rename", unix.Rename)
	two("link", unix.Link)
	two("exchange", exchange)
	two("noreplace", func(a, b string) error {
		return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_NOREPLACE)
	})
	return steps
}

// both fails when the two answers differ, but for EXDEV: what crosses classes is
// refused, and then not done in the ordinary directory either.
func (p *pair) both(r *rapid.T, what string, act func(i int) error) {
	inside := act(0)
	if errors.Is(inside, unix.EXDEV) {
		return
	}
	if outside := act(1); errnoOf(inside) != errnoOf(outside) {
		r.Fatalf("%s: inside %v, in an ordinary directory %v", what, inside, outside)
	}
}

func errnoOf(err error) (errno unix.Errno) {
	errors.As(err, &errno)
	return errno
}

func (p *pair) open(r *rapid.T, name string) {
	if len(p.files) > 5 {
		return
	}
	var fds [2]int
	var errs [2]error
	for i := range fds {
		fds[i], errs[i] = unix.Open(p.roots[i]+"/"+name, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	}
	if errnoOf(errs[0]) != errnoOf(errs[1]) {
		r.Fatalf("open %s: inside %v, in an ordinary directory %v", name, errs[0], errs[1])
	}
	if errs[0] == nil {
		p.files = append(p.files, fds)
	}
}

func (p *pair) use(r *rapid.T) {
	if len(p.files) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.files)-1).Draw(r, "file")
	at := rapid.Int64Range(0, 9000).Draw(r, "offset")
	fds := p.files[i]
	var content [2]string
	switch rapid.IntRange(0, 3).Draw(r, "use") {
	case 0:
		p.both(r, "pwrite", func(i int) error { _, err := unix.Pwrite(fds[i], []byte("written"), at); return err })
	case 1:
		p.both(r, "ftruncate", func(i int) error { return unix.Ftruncate(fds[i], at) })
	case 2:
		for i := range fds {
			b := make([]byte, 10000)
			n, err := unix.Pread(fds[i], b, at)
			content[i] = fmt.Sprintf("%q %v", b[:max(n, 0)], err)
		}
	case 3:
		unix.Close(fds[0])
		unix.Close(fds[1])
		p.files = append(p.files[:i], p.files[i+1:]...)
	}
	if content[0] != content[1] {
		r.Fatalf("an open file at %d: inside %s, in an ordinary directory %s", at, content[0], content[1])
	}
}

func (p *pair) close() {
	for _, fds := range p.files {
		unix.Close(fds[0])
		unix.Close(fds[1])
	}
}

// compare fails when the two trees differ.
func (p *pair) compare(r *rapid.T) {
	inside, outside := describe(r, p.roots[0]), describe(r, p.roots[1])
	if inside != outside {
		r.Fatalf("inside:\n%sin an ordinary directory:\n%s", inside, outside)
	}
}

// describe lists a tree with all that can be compared.
func describe(r interface{ Fatalf(string, ...any) }, root string) (text string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%d links, %q", st.Nlink, b)
		case unix.S_IFLNK:
			content, err = os.Readlink(path)
		}
		text += fmt.Sprintf("%s %o %v %s\n", path[len(root):], st.Mode, d.Type(), content)
		return err
	})
	if err != nil {
		r.Fatalf("walk: %v", err)
	}
	return text
}
