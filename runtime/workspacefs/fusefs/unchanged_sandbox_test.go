//go:build sandbox

package fusefs_test

import (
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// heard keeps the paths that were written, as the journal does.
type heard struct {
	mu    sync.Mutex
	wrote []string
}

func (h *heard) Created(string, route.Verdict)           {}
func (h *heard) Removed(string, route.Verdict)           {}
func (h *heard) Renamed(string, string, route.Verdict)   {}
func (h *heard) Changing(string, string) (func(), error) { return func() {}, nil }
func (h *heard) MadeHeldDir(string, int)                 {}
func (h *heard) Wrote(path string, _ route.Verdict) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrote = append(h.wrote, path)
}

func (h *heard) told() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.wrote)
}

func changeTime(t *testing.T, path string) unix.Timespec {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	return st.Ctim
}

// What the rules have hidden since answers nothing.
func TestSettingTheSameModeTellsNothingOfWhatIsHidden(t *testing.T) {
	w := newWorld(t)
	w.router.open.Store(true)
	put(t, w.host+"/secret", "text")
	f, err := os.Open(w.tree + "/secret")
	must(t, err)
	defer f.Close()
	must(t, f.Chmod(0o644))
	w.router.open.Store(false)
	w.router.generation.Add(1)
	if err := f.Chmod(0o644); !errors.Is(err, unix.ESTALE) {
		t.Errorf("%v", err)
	}
}

// The mode a path has already: what watchers inside are poked with.
func TestSettingTheSameModeTouchesNothing(t *testing.T) {
	events := &heard{}
	w := newWorld(t, func(c *fusefs.Config) { c.Events = events })
	put(t, w.host+"/dir/file", "text")
	put(t, w.host+"/ro", "text")
	for name, mode := range map[string]os.FileMode{"dir": 0o755, "dir/file": 0o644, "ro": 0o644} {
		before := changeTime(t, w.host+"/"+name)
		must(t, os.Chmod(w.tree+"/"+name, mode))
		if changeTime(t, w.host+"/"+name) != before {
			t.Errorf("%s was touched", name)
		}
	}
	if told := events.told(); len(told) != 0 {
		t.Errorf("told of %q", told)
	}
	before := changeTime(t, w.host+"/dir/file")
	must(t, os.Chmod(w.tree+"/dir/file", 0o600))
	if told := events.told(); changeTime(t, w.host+"/dir/file") == before || len(told) != 1 {
		t.Errorf("another mode did not arrive: told of %q", told)
	}
	if err := os.Chmod(w.tree+"/ro", 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("another mode of a protected file: %v", err)
	}
	if err := os.Chown(w.tree+"/ro", os.Getuid(), -1); !errors.Is(err, unix.EROFS) {
		t.Errorf("the owner of a protected file: %v", err)
	}
}
