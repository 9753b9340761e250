//go:build sandbox

package fusefs_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

// announced keeps what was announced and not yet made, and what the host had then.
type announced struct {
	heard
	root string

	mu    sync.Mutex // guards what follows
	under int
	lines []string
	fail  error
}

func (a *announced) Changing(path, to string) (func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return nil, a.fail
	}
	a.under++
	text, _ := os.ReadFile(filepath.Join(a.root, path))
	if to != "" {
		text = []byte(">" + to)
	}
	a.lines = append(a.lines, path+" "+string(text))
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.under--
	}, nil
}

func (a *announced) take() (lines []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lines, a.lines = a.lines, nil
	if a.under != 0 {
		lines = append(lines, "not done")
	}
	return slices.Compact(lines)
}

var _ fusefs.Events = (*announced)(nil)

// Whatever the sandbox does to a file that rules are read from is announced before.
func TestRuleFilesAreAnnounced(t *testing.T) {
	a := &announced{}
	w := ruled(t, repository, func(c *fusefs.Config) { c.Events, a.root = a, c.Host.Name() })
	rules, other := w.tree+"/.gitignore", w.tree+"/other"
	for _, c := range []struct {
		what string
		act  func() error
		want []string
	}{
		{"create", func() error { return unix.Mknod(rules, unix.S_IFREG|0o644, 0) }, []string{".gitignore "}},
		{"write", func() error { return write(rules, 0) }, []string{".gitignore "}},
		{"append", func() error { return write(rules, os.O_APPEND) }, []string{".gitignore X"}},
		{"truncate", func() error { return unix.Truncate(rules, 1) }, []string{".gitignore XX"}},
		{"fallocate", func() error { return allocate(rules) }, []string{".gitignore X"}},
		{"an ordinary file", func() error { return os.WriteFile(other, []byte("y"), 0o644) }, nil},
		{"copy", func() error { return copyRange(w.tree+"/a", rules) }, []string{".gitignore X" + string(make([]byte, 99))}},
		{"rename over", func() error { return os.Rename(other, rules) }, []string{".gitignore work" + string(make([]byte, 96))}},
		{"rename away", func() error { return os.Rename(rules, other) }, []string{".gitignore y"}},
		{"rename to", func() error { return os.Rename(other, rules) }, []string{".gitignore "}},
		{"unlink", func() error { return os.Remove(rules) }, []string{".gitignore y"}},
		{"make a directory", func() error { return os.MkdirAll(w.tree+"/d/e", 0o755) }, nil},
		{"rename it", func() error { return os.Rename(w.tree+"/d", w.tree+"/f") }, []string{"d >f"}},
		{"index", func() error {
			if err := os.WriteFile(w.tree+"/.git/index.lock", []byte(indexOf("b")), 0o644); err != nil {
				return err
			}
			return os.Rename(w.tree+"/.git/index.lock", w.tree+"/.git/index")
		}, []string{".git/index " + indexOf("a")}},
		{"a file called index", func() error { return os.WriteFile(w.tree+"/index", []byte("x"), 0o644) }, nil},
	} {
		if err := c.act(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := a.take(); !slices.Equal(got, c.want) {
			t.Errorf("%s: announced %q, want %q", c.what, got, c.want)
		}
	}
}

// What cannot be announced is not done.
func TestWhatCannotBeAnnouncedIsRefused(t *testing.T) {
	a := &announced{fail: unix.ENOSPC}
	w := ruled(t, func(host string) {
		repository(host)
		_ = os.WriteFile(host+"/.gitignore", []byte("text"), 0o644)
		_ = os.MkdirAll(host+"/d/e", 0o755)
	}, func(c *fusefs.Config) { c.Events = a })
	rules := w.tree + "/.gitignore"
	put(t, w.tree+"/other", "x")
	put(t, w.tree+"/.git/index.lock", indexOf("b"))
	for _, act := range []func() error{
		func() error { return write(rules, 0) },
		func() error { return unix.Truncate(rules, 0) },
		func() error { return os.Remove(rules) },
		func() error { return unix.Rename(w.tree+"/other", rules) },
		func() error { return unix.Rename(rules, w.tree+"/other2") },
		func() error { return exchange(rules, w.tree+"/other") },
		func() error { return os.WriteFile(w.tree+"/d/.gitignore", nil, 0o644) },
		func() error { return unix.Rename(w.tree+"/d", w.tree+"/f") },
		func() error { return unix.Rename(w.tree+"/.git/index.lock", w.tree+"/.git/index") },
	} {
		refused(t, act(), unix.ENOSPC)
	}
	same(t, w.host+"/.gitignore", "text")
	same(t, w.host+"/.git/index", indexOf("a"))
	if _, err := os.Stat(w.host + "/f"); err == nil {
		t.Error("renamed")
	}
}

// A second name would be a way to change rules unannounced.
func TestRuleFilesHaveOneName(t *testing.T) {
	w := ruled(t, repository)
	put(t, w.tree+"/.gitignore", "text")
	refused(t, unix.Link(w.tree+"/.gitignore", w.tree+"/second"), unix.EXDEV)
	put(t, w.tree+"/one", "text")
	refused(t, unix.Link(w.tree+"/one", w.tree+"/a/.gitignore"), unix.ENOTDIR)
	must(t, os.Mkdir(w.tree+"/d", 0o755))
	refused(t, unix.Link(w.tree+"/one", w.tree+"/d/.gitignore"), unix.EXDEV)
	flows := w.tree + "/.github/workflows" // everything there is told of alike
	put(t, flows+"/one", "text")
	refused(t, unix.Link(flows+"/one", flows+"/.gitignore"), unix.EXDEV)
	must(t, unix.Link(flows+"/one", flows+"/two"))
	refused(t, unix.Rename(flows+"/one", flows+"/.gitignore"), unix.EXDEV)
	must(t, unix.Link(w.tree+"/one", w.tree+"/two"))
	refused(t, unix.Rename(w.tree+"/one", w.tree+"/d/.gitignore"), unix.EXDEV)
	must(t, os.Remove(w.tree+"/two"))
	must(t, unix.Rename(w.tree+"/one", w.tree+"/d/.gitignore"))
}
