package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// These are tests of unexported parts: from outside they show in a sandbox only.

// following is a workspace whose rules are followed.
type following struct {
	*follower
	t       *testing.T
	tree    tree
	root    string
	flushed []map[string]journal.Pin // what was pinned at each writing
	fail    error
}

func follow(t *testing.T, files map[string]string) *following {
	t.Helper()
	host, root := world(t, files)
	policy, err := route.New(route.Config{Read: host.read, Look: host.look})
	if err != nil {
		t.Fatal(err)
	}
	w := &following{t: t, tree: host, root: root}
	k := &keeper{policy: policy, pins: journal.NewPins()}
	k.flush = func() error {
		w.flushed = append(w.flushed, k.pins.All())
		return w.fail
	}
	w.follower = newFollower(k, host.read, inside)
	w.outdated = func() {}
	w.protect = func(string) bool { return false }
	return w
}

func (w *following) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o644); err != nil {
		w.t.Error(err)
	}
}

// guest writes as the sandbox does: announced, then done.
func (w *following) guest(name, text string) {
	w.t.Helper()
	done, err := w.changing(name)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.write(name, text)
	done()
}

func (w *following) host(name string) {
	w.t.Helper()
	if _, err := w.HostChanged(name, func(limit int64) ([]byte, error) { return w.read(name, limit) }); err != nil {
		w.t.Error(err)
	}
}

// hidden says whether the workspace's file of a name is hidden.
func (w *following) hidden(name string) bool {
	return w.policy.Name(w.policy.Root(), name, route.Names{Host: route.File}).Class == route.Held
}

// While the sandbox writes an ignore file over and over, the host touches it: nothing
// of it is taken for the host's.
func TestAHostsTouchAdoptsNothing(t *testing.T) {
	t.Parallel()
	w := follow(t, map[string]string{".gitignore": "secret\n", "secret": "x"})
	var sides sync.WaitGroup
	end := make(chan struct{})
	sides.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			w.guest(".gitignore", []string{"!secret\n", "# nothing\n", ""}[i%3])
		}
	})
	for range 3000 {
		w.host(".gitignore")
		if !w.hidden("secret") {
			t.Error("revealed")
			break
		}
	}
	close(end)
	sides.Wait()
	w.drain()
	w.host(".gitignore")
	if !w.hidden("secret") {
		t.Error("revealed in the end")
	}
	w.write(".gitignore", "other\n")
	w.host(".gitignore")
	if w.hidden("secret") || !w.hidden("other") {
		t.Error("what the host writes does not count")
	}
}

// An event of the host's that comes while the sandbox is at it.
func TestAChangeUnderWayIsTheSandboxs(t *testing.T) {
	t.Parallel()
	w := follow(t, map[string]string{".gitignore": "secret\n", "secret": "x"})
	done, err := w.changing(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	w.write(".gitignore", "!secret\n")
	w.host(".gitignore")
	done()
	w.host(".gitignore")
	if !w.hidden("secret") {
		t.Error("revealed")
	}
}

// The pin is on the disk before the first change, and once is enough.
func TestPinnedBeforeTheFirstChange(t *testing.T) {
	t.Parallel()
	w := follow(t, map[string]string{".gitignore": "secret\n", "secret": "x"})
	for range 3 {
		w.guest(".gitignore", "!secret\n")
	}
	if len(w.flushed) != 1 || string(w.flushed[0][".gitignore"].Content) != "secret\n" {
		t.Errorf("written %+v", w.flushed)
	}
	kept := journal.NewPins()
	if err := kept.Replace(w.flushed[0]); err != nil {
		t.Fatal(err)
	}
	policy, err := route.New(route.Config{Read: w.tree.read, Look: w.tree.look, Pins: loadPins(kept)})
	if err != nil {
		t.Fatal(err)
	}
	if policy.Name(policy.Root(), "secret", route.Names{Host: route.File}).Class != route.Held {
		t.Error("after a crash the sandbox's file counts as the host's")
	}
}

// What cannot be remembered is not changed.
func TestNoChangeWithoutItsPin(t *testing.T) {
	t.Parallel()
	w := follow(t, map[string]string{".gitignore": "secret\n"})
	w.fail = errors.New("no space")
	if _, err := w.changing(".gitignore"); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	w.fail = nil
	done, err := w.changing(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := w.keeper.end(); err != nil {
		t.Fatal(err)
	}
	if pins := w.keeper.pins.All(); len(pins) != 0 {
		t.Errorf("left: %+v", pins)
	}
	if _, err := w.changing("x/.gitignore"); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("after the end: %v", err)
	}
}

func TestRenamedDirectoriesAreToldWithTheirRules(t *testing.T) {
	t.Parallel()
	w := follow(t, map[string]string{"made/a": "x"})
	w.guest("made/.gitignore", "!*\n")
	done, err := w.moving("made", "moved")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.root+"/made", w.root+"/moved"); err != nil {
		t.Fatal(err)
	}
	done()
	w.drain()
	if err := w.keeper.end(); err != nil {
		t.Fatal(err)
	}
	pin, known := w.keeper.pins.Get("moved/.gitignore")
	if _, old := w.keeper.pins.Get("made/.gitignore"); !known || !pin.Awaits([]byte("!*\n")) || old {
		t.Errorf("%+v", w.keeper.pins.All())
	}
	if got := w.RuleFiles(); !slices.Contains(got, "moved/.gitignore") {
		t.Errorf("%q", got)
	}
}
