//go:build sandbox

package fusefs_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// watchedWorld is a world whose directories count as watched.
func watchedWorld(t *testing.T, change ...func(*fusefs.Config)) *world {
	return newWorld(t, append([]func(*fusefs.Config){func(c *fusefs.Config) {
		c.OnDirectory = func(uint64, string, int) error { return nil }
	}}, change...)...)
}

func TestHostChangesAreSeenOnceTold(t *testing.T) {
	for _, w := range []*world{newWorld(t), watchedWorld(t)} {
		put(t, w.host+"/d/file", "one")
		same(t, w.tree+"/d/file", "one")
		names(t, w.tree+"/d")
		_, err := os.Stat(w.tree + "/d/later")
		refused(t, err, unix.ENOENT)

		put(t, w.host+"/d/file", "changed in place") // the same inode
		same(t, w.tree+"/d/file", "one")             // as long as nobody tells
		w.fs.Changed("d/file")
		same(t, w.tree+"/d/file", "changed in place")

		put(t, w.host+"/d/other", "replaced")
		must(t, os.Rename(w.host+"/d/other", w.host+"/d/file"))
		put(t, w.host+"/d/later", "x")
		w.fs.EntryChanged("d", "file")
		w.fs.EntryChanged("d", "later")
		same(t, w.tree+"/d/file", "replaced")
		same(t, w.tree+"/d/later", "x")
		if got := names(t, w.tree+"/d"); !slices.Equal(got, []string{"file", "later"}) {
			t.Errorf("listed %q", got)
		}
	}
}

func TestInvalidateAllForgetsAbsences(t *testing.T) {
	w := watchedWorld(t)
	put(t, w.host+"/d/file", "one")
	same(t, w.tree+"/d/file", "one")
	for _, name := range []string{"a", "d/b"} {
		_, err := os.Stat(w.tree + "/" + name)
		refused(t, err, unix.ENOENT)
		put(t, w.host+"/"+name, "x")
	}
	put(t, w.host+"/d/file", "two")
	w.fs.InvalidateAll()
	same(t, w.tree+"/a", "x")
	same(t, w.tree+"/d/b", "x")
	same(t, w.tree+"/d/file", "two")
}

// What the host changed is noticed at the next look at its attributes even if nobody
// told of it.
func TestUntoldChangeOfAWatchedFile(t *testing.T) {
	w := watchedWorld(t, func(c *fusefs.Config) { c.Cache = 1 })
	put(t, w.host+"/file", "one")
	f, err := os.Open(w.tree + "/file")
	must(t, err)
	defer f.Close()
	read := func() string {
		b := make([]byte, 10)
		n, _ := f.ReadAt(b, 0)
		return string(b[:n])
	}
	if got := read(); got != "one" {
		t.Errorf("read %q", got)
	}
	put(t, w.host+"/file", "two")
	until(t, "the change is seen", func() bool {
		_, err := os.Stat(w.tree + "/file")
		return err == nil && read() == "two"
	})
}

// until spins: what is waited for is a few system calls away.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1_000_000 {
		if ok() {
			return
		}
	}
	t.Fatalf("still waiting: %s", what)
}

func TestMountsStayWhenEverythingIsForgotten(t *testing.T) {
	t.Run("expiring names", func(t *testing.T) { mountsStay(t, watchedWorld(t)) })
	t.Run("an older kernel", func(t *testing.T) {
		w := watchedWorld(t)
		w.fs.WithoutExpiry()
		mountsStay(t, w)
	})
}

func mountsStay(t *testing.T, w *world) {
	must(t, os.Mkdir(w.tree+"/held.modules", 0o755))
	must(t, unix.Mount(w.held+"/held.modules", w.tree+"/held.modules", "", unix.MS_BIND, ""))
	defer unix.Unmount(w.tree+"/held.modules", unix.MNT_DETACH)
	put(t, w.tree+"/held.modules/x", "x")
	w.fs.InvalidateAll()
	w.fs.EntryChanged("", "held.modules")
	w.router.generation.Add(1)
	w.fs.InvalidateAll()
	var mounted, below unix.Stat_t
	must(t, unix.Stat(w.tree+"/held.modules", &mounted))
	must(t, unix.Stat(w.held+"/held.modules", &below))
	if mounted.Dev != below.Dev {
		t.Error("what was mounted is gone")
	}
	same(t, w.tree+"/held.modules/x", "x")
	_, err := os.Stat(w.tree + "/file")
	refused(t, err, unix.ENOENT)
	put(t, w.host+"/file", "x")
	w.fs.EntryChanged("", "file")
	same(t, w.tree+"/file", "x")
}

// Telling the kernel to forget, from outside, while the sandbox works in the same
// places, comes to an end.
func TestForgettingUnderLoad(t *testing.T) {
	w := watchedWorld(t)
	var load sync.WaitGroup
	for g := range 4 {
		load.Go(func() {
			for i := range 150 {
				dir := fmt.Sprintf("%s/d%d", w.tree, i%5)
				_ = os.Mkdir(dir, 0o755)
				_ = os.WriteFile(fmt.Sprintf("%s/f%d", dir, g), make([]byte, 20000), 0o644)
				_, _ = os.ReadDir(dir)
				_ = os.Rename(fmt.Sprintf("%s/f%d", dir, g), fmt.Sprintf("%s/d%d/g%d", w.tree, (i+1)%5, g))
				_, _ = os.ReadFile(fmt.Sprintf("%s/d%d/g%d", w.tree, (i+1)%5, g))
				_ = os.RemoveAll(dir)
			}
		})
	}
	load.Go(func() {
		for i := range 150 {
			w.fs.EntryChanged("", fmt.Sprintf("d%d", i%5))
			w.fs.EntryChanged(fmt.Sprintf("d%d", i%5), "f1")
			w.fs.Changed(fmt.Sprintf("d%d/g2", i%5))
			w.router.generation.Add(1)
			w.fs.InvalidateAll()
		}
	})
	load.Wait()
}

// entries are what OnDirectory was called with.
type entries struct {
	mu      sync.Mutex
	paths   []string
	handles map[string]uint64
	gone    []uint64
	look    func(path string) // called from OnDirectory
}

func (e *entries) on(handle uint64, path string, dir int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paths = append(e.paths, path)
	e.handles[path] = handle
	if e.look != nil {
		e.look(path)
	}
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("no directory: %w", err)
	}
	if path == "unwatched" {
		return errors.New("not this one")
	}
	return nil
}

func TestDirectoriesAreAnnouncedBeforeTheyAreRead(t *testing.T) {
	e := &entries{handles: map[string]uint64{}}
	w := newWorld(t, func(c *fusefs.Config) {
		c.OnDirectory, c.Unwatched = e.on, 1
		c.OnForget = func(handle uint64, _ int) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.gone = append(e.gone, handle)
		}
	})
	put(t, w.host+"/d/e/file", "x")
	put(t, w.host+"/unwatched/file", "x")
	// What appears while the watch is being set must be found by the first look.
	e.mu.Lock()
	e.look = func(path string) {
		if path == "d" {
			put(t, w.host+"/d/late", "x")
		}
	}
	e.mu.Unlock()
	same(t, w.tree+"/d/late", "x")
	names(t, w.tree+"/d")
	same(t, w.tree+"/d/e/file", "x")
	names(t, w.tree+"/unwatched")
	e.mu.Lock()
	if !slices.Equal(e.paths, []string{"", "d", "d/e", "unwatched"}) {
		t.Errorf("told of %q", e.paths)
	}
	d := e.handles["d"]
	e.mu.Unlock()

	if path, ok := w.fs.HandlePath(d); path != "d" || !ok {
		t.Errorf("%q, %v", path, ok)
	}
	put(t, w.host+"/d/late", "changed")
	w.fs.HandleChanged(d, "late")
	same(t, w.tree+"/d/late", "changed")

	put(t, w.host+"/unwatched/new", "x") // seen without being told
	until(t, "an unwatched directory is read again", func() bool { return len(names(t, w.tree+"/unwatched")) == 2 })

	must(t, os.RemoveAll(w.tree+"/d/e"))
	until(t, "a removed directory is forgotten", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.Contains(e.gone, e.handles["d/e"])
	})
}

// story is what Events were told.
type story struct {
	mu    sync.Mutex
	lines []string
	held  []string
}

func (s *story) say(what, path string, v route.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := fmt.Sprint(what, " ", path, " ", v.Class); len(s.lines) == 0 || s.lines[len(s.lines)-1] != line {
		s.lines = append(s.lines, line)
	}
}
func (s *story) Created(path string, v route.Verdict)     { s.say("created", path, v) }
func (s *story) Wrote(path string, v route.Verdict)       { s.say("wrote", path, v) }
func (s *story) Removed(path string, v route.Verdict)     { s.say("removed", path, v) }
func (s *story) Renamed(from, to string, v route.Verdict) { s.say("renamed", from+">"+to, v) }
func (s *story) Changing(string, string) (func(), error)  { return func() {}, nil }
func (s *story) MadeHeldDir(path string, dir int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		path += " " + err.Error()
	}
	s.held = append(s.held, path)
}

func TestEvents(t *testing.T) {
	s := &story{}
	w := newWorld(t, func(c *fusefs.Config) { c.Events = s })
	must(t, os.Mkdir(w.tree+"/d", 0o755))
	put(t, w.tree+"/d/f", "x")
	must(t, os.Rename(w.tree+"/d/f", w.tree+"/g"))
	must(t, os.Remove(w.tree+"/g"))
	must(t, os.Mkdir(w.tree+"/d/held", 0o755))
	must(t, os.Mkdir(w.tree+"/d/held/below", 0o755))
	_ = os.Mkdir(w.tree+"/absent", 0o755)
	s.mu.Lock()
	defer s.mu.Unlock()
	want := []string{"created d 1", "created d/f 1", "wrote d/f 1", "renamed d/f>g 1", "removed g 1", "created d/held 4", "created d/held/below 4"}
	if !slices.Equal(s.lines, want) {
		t.Errorf("got  %q\nwant %q", s.lines, want)
	}
	if !slices.Equal(s.held, []string{"d/held"}) {
		t.Errorf("held directories %q", s.held)
	}
}
