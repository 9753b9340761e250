//go:build sandbox

package watch_test

import (
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

const (
	modeNamespace = "child"
	modePlain     = "plain"
	modeIdle      = "idle" // a user namespace to map a mount by
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case modeNamespace, modePlain:
			os.Exit(childMain(os.Args[1] == modeNamespace))
		case modeIdle:
			if err := userns.Enter(); err != nil {
				os.Exit(1)
			}
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ids are this account's.
func ids() runtime.IDs {
	if os.Getuid() == 0 {
		wide := runtime.IDRange{Host: 700_000_000, Count: 65536}
		return runtime.IDs{Mode: runtime.ModeRoot, UIDs: wide, GIDs: wide}
	}
	name := must(user.Current()).Username
	for line := range strings.Lines(string(must(os.ReadFile("/etc/subuid")))) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) == 3 && f[0] == name {
			r := runtime.IDRange{Host: uint32(must(strconv.ParseUint(f[1], 10, 32))), Count: uint32(must(strconv.ParseUint(f[2], 10, 32)))}
			return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: r, GIDs: r}
		}
	}
	return runtime.IDs{Mode: runtime.ModeSingle}
}

// watcher is the child as the test sees it.
type watcher struct {
	t       *testing.T
	orders  *gob.Encoder
	replies chan answer
	found   chan answer // what was not asked for
	next    uint64
	allowed map[place]watch.What // what was expected so far
}

type place struct {
	key  uint64
	name string
}

// tree is the first descriptor a child gets.
const tree = 3

// begin starts a child with trees as its descriptors from tree on.
func begin(t *testing.T, mode string, trees ...*os.File) *watcher {
	t.Helper()
	in, orders := must2(os.Pipe())
	answers, out := must2(os.Pipe())
	spec := proc.Spec{Path: proc.Self(), Args: []string{"x", mode}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Files: append([]*os.File{in, out, os.Stderr}, trees...), Cloneflags: unix.CLONE_NEWNS}
	start := func() (*proc.Process, error) { return userns.Start(spec, ids()) }
	if mode == modePlain {
		spec.Cloneflags = 0
		start = func() (*proc.Process, error) { return proc.Start(spec) }
	}
	p, err := start()
	in.Close()
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, orders: gob.NewEncoder(orders), allowed: map[place]watch.What{}, replies: make(chan answer, 1), found: make(chan answer, 1<<16)}
	go w.listen(answers)
	t.Cleanup(func() {
		orders.Close()
		<-p.Done()
		if p.Exit().Status() != 0 {
			t.Errorf("the child ended with %v", p.Exit())
		}
	})
	return w
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func (w *watcher) listen(r io.Reader) {
	defer close(w.replies)
	lines := gob.NewDecoder(r)
	for {
		var a answer
		if lines.Decode(&a) != nil {
			return
		}
		if a.Done {
			w.replies <- a
			continue
		}
		w.found <- a
	}
}

// try gives an order and returns the reply.
func (w *watcher) try(o order) answer {
	w.t.Helper()
	if err := w.orders.Encode(o); err != nil {
		w.t.Fatal(err)
	}
	a, ok := <-w.replies
	if !ok {
		w.t.Fatalf("the child is gone after %+v", o)
	}
	return a
}

func (w *watcher) do(o order) answer {
	w.t.Helper()
	a := w.try(o)
	if a.Err != "" {
		w.t.Fatalf("%+v: %s", o, a.Err)
	}
	return a
}

// add opens name below dir in the child and watches it.
func (w *watcher) add(dir int, name string) (fd int, key uint64) {
	w.t.Helper()
	fd = w.do(order{Do: "open", FD: dir, Name: name}).FD
	w.next++
	w.do(order{Do: "add", FD: fd, Key: w.next})
	return fd, w.next
}

func (w *watcher) find() answer {
	w.t.Helper()
	select {
	case a := <-w.found:
		return a
	case <-time.After(20 * time.Second):
		w.t.Fatal("nothing more is reported")
	}
	return answer{}
}

// expect waits until all of want was reported. It fails for anything else, but for
// the rest of what was expected before: one write is several events.
func (w *watcher) expect(want ...watch.Event) {
	w.t.Helper()
	missing := map[place]watch.What{}
	for _, e := range want {
		missing[place{e.Key, e.Name}] = e.What
		w.allowed[place{e.Key, e.Name}] |= e.What
	}
	for len(missing) > 0 {
		a := w.find()
		for _, e := range a.Events {
			p := place{e.Key, e.Name}
			if extra := e.What &^ w.allowed[p]; extra != 0 {
				w.t.Errorf("unexpected: %d %q %v", e.Key, e.Name, extra)
			}
			if missing[p] &^= e.What; missing[p] == 0 {
				delete(missing, p)
			}
		}
		if a.Overflow || a.Told != "" {
			w.t.Errorf("unexpected: %+v", a)
		}
	}
}

// workspace returns a directory of the host and what the child gets of it: in root
// mode a mount that maps ids, as the supervisor makes one.
func workspace(t *testing.T) (path string, given *os.File) {
	t.Helper()
	path = t.TempDir()
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil { // the child is another user in root mode
		t.Fatal(err)
	}
	given = must(os.Open(path))
	if i := ids(); i.Mode == runtime.ModeRoot {
		given = mapped(t, given, i)
	}
	t.Cleanup(func() { given.Close() })
	return path, given
}

func mapped(t *testing.T, dir *os.File, i runtime.IDs) *os.File {
	t.Helper()
	in, hold := must2(os.Pipe())
	p, err := userns.Start(proc.Spec{Path: proc.Self(), Args: []string{"x", modeIdle}, Files: []*os.File{in}}, i)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { hold.Close(); <-p.Done() }()
	defer in.Close()
	space := must(os.Open(fmt.Sprintf("/proc/%d/ns/user", p.PID())))
	defer space.Close()
	fd := must(unix.OpenTree(int(dir.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH))
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(space.Fd())}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "mapped")
}

func TestChangesOfOthersAreReported(t *testing.T) {
	t.Parallel()
	path, given := workspace(t)
	in := func(name string) string { return filepath.Join(path, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Mkdir(in("sub"), 0o755))
	w := begin(t, modeNamespace, given)
	_, top := w.add(tree, ".")
	sub, subKey := w.add(tree, "sub")

	check(os.WriteFile(in("made\xff\n"), []byte("a"), 0o644))
	w.expect(watch.Event{Key: top, Name: "made\xff\n", What: watch.Created | watch.Content})

	open := must(os.OpenFile(in("made\xff\n"), os.O_WRONLY, 0))
	defer open.Close()
	must(open.WriteString("still open"))
	w.expect(watch.Event{Key: top, Name: "made\xff\n", What: watch.Content})
	check(open.Chmod(0o600))
	w.expect(watch.Event{Key: top, Name: "made\xff\n", What: watch.Attributes})
	check(open.Close())
	w.expect(watch.Event{Key: top, Name: "made\xff\n", What: watch.Content})

	check(os.Rename(in("made\xff\n"), in("sub/moved")))
	w.expect(watch.Event{Key: top, Name: "made\xff\n", What: watch.Removed}, watch.Event{Key: subKey, Name: "moved", What: watch.Created})

	check(os.WriteFile(in("new"), nil, 0o644))
	check(os.Rename(in("new"), in("sub/moved"))) // replaces it
	w.expect(watch.Event{Key: top, Name: "new", What: watch.Created | watch.Content | watch.Removed},
		watch.Event{Key: subKey, Name: "moved", What: watch.Created})

	check(os.Rename(in("sub"), in("bus"))) // its mark moves along
	w.expect(watch.Event{Key: top, Name: "sub", What: watch.Removed | watch.Directory},
		watch.Event{Key: top, Name: "bus", What: watch.Created | watch.Directory},
		watch.Event{Key: subKey, What: watch.SelfMoved | watch.Directory})
	check(os.Remove(in("bus/moved")))
	w.expect(watch.Event{Key: subKey, Name: "moved", What: watch.Removed})

	check(os.Remove(in("bus")))
	w.expect(watch.Event{Key: top, Name: "bus", What: watch.Removed | watch.Directory})
	if n := w.do(order{Do: "close", FD: sub}).Status.Marks; n > 2 {
		t.Errorf("%d marks", n)
	}
	w.expect(watch.Event{Key: subKey, What: watch.SelfGone | watch.Directory})
	if n := w.do(order{Do: "status"}).Status.Marks; n != 1 {
		t.Errorf("%d marks are left", n)
	}
}

// The events arrive in order: what was reported before the last change is all.
func TestOwnChangesAreNotReported(t *testing.T) {
	t.Parallel()
	path, given := workspace(t)
	w := begin(t, modeNamespace, given)
	_, key := w.add(tree, ".")
	w.do(order{Do: "own", FD: tree, Name: "own"})
	w.do(order{Do: "shell", FD: tree, Name: ": >child"}) // another process, though in the namespace
	w.expect(watch.Event{Key: key, Name: "child", What: watch.Created | watch.Content})
	if err := os.Mkdir(filepath.Join(path, "host"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.expect(watch.Event{Key: key, Name: "host", What: watch.Created | watch.Directory})
}

func TestRemoveEndsReports(t *testing.T) {
	t.Parallel()
	path, given := workspace(t)
	for _, d := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(path, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	w := begin(t, modeNamespace, given)
	a, aKey := w.add(tree, "a")
	_, bKey := w.add(tree, "b")
	w.do(order{Do: "add", FD: a, Key: 100}) // a second name
	change := func(name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(path, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	change("a/1")
	w.expect(watch.Event{Key: aKey, Name: "1", What: watch.Created | watch.Directory}, watch.Event{Key: 100, Name: "1", What: watch.Created | watch.Directory})
	w.do(order{Do: "remove", FD: a, Key: aKey})
	change("a/2")
	w.expect(watch.Event{Key: 100, Name: "2", What: watch.Created | watch.Directory})
	if n := w.do(order{Do: "remove", FD: -1, Key: 100}).Status.Marks; n != 2 {
		t.Errorf("%d marks, the silent one among them", n)
	}
	change("a/3")
	change("b/1")
	w.expect(watch.Event{Key: bKey, Name: "1", What: watch.Created | watch.Directory})
	w.do(order{Do: "add", FD: a, Key: 101})
	if n := w.do(order{Do: "remove", FD: a, Key: 101}).Status.Marks; n != 1 {
		t.Errorf("%d marks", n)
	}
	w.do(order{Do: "remove", FD: a, Key: 101}) // once more does nothing
}

func TestOverflowIsReportedAndSurvived(t *testing.T) {
	t.Parallel()
	path, given := workspace(t)
	w := begin(t, modeNamespace, given)
	w.do(order{Do: "shell", FD: tree, Name: "mount -t tmpfs none " + path}) // files in memory, for speed
	top, key := w.add(tree, path)
	queue := must(strconv.Atoi(strings.TrimSpace(string(must(os.ReadFile("/proc/sys/fs/fanotify/max_queued_events"))))))
	w.do(order{Do: "hold"})
	flood := queue + 5000 // the Watcher takes some thousand before it is held up
	w.do(order{Do: "shell", FD: top, Name: fmt.Sprintf("i=0; while [ $i -lt %d ]; do : >$i; i=$((i+1)); done", flood)})
	w.do(order{Do: "release"})
	for !w.find().Overflow {
		continue
	}
	w.do(order{Do: "shell", FD: top, Name: "mkdir after"})
	for {
		a := w.find()
		if n := len(a.Events); n > 0 && a.Events[n-1] == (watch.Event{Key: key, Name: "after", What: watch.Created | watch.Directory}) {
			return
		}
	}
}

func TestLimitOfMarks(t *testing.T) {
	t.Parallel()
	path, given := workspace(t)
	for i := range 5 {
		if err := os.Mkdir(filepath.Join(path, strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := begin(t, modeNamespace, given)
	w.do(order{Do: "limit", N: 2})
	zero, _ := w.add(tree, "0")
	w.add(tree, "1")
	var refused []int
	for _, name := range []string{"2", "3"} {
		fd := w.do(order{Do: "open", FD: tree, Name: name}).FD
		refused = append(refused, fd)
		a := w.try(order{Do: "add", FD: fd, Key: uint64(100 + fd)})
		if a.Why != watch.ErrLimit.Error() || a.Status.Unwatched != len(refused) || a.Status.Marks != 2 {
			t.Errorf("the third directory: %+v", a)
		}
	}
	if a := w.find(); !strings.Contains(a.Told, "max_user_marks") {
		t.Errorf("a person is told %+v", a)
	}
	if len(w.found) != 0 {
		t.Errorf("told again: %+v", <-w.found)
	}
	w.do(order{Do: "remove", FD: zero, Key: 1})
	if a := w.do(order{Do: "add", FD: refused[0], Key: uint64(100 + refused[0])}); a.Status.Unwatched != 1 || a.Status.Marks != 2 {
		t.Errorf("with room again: %+v", a.Status)
	}
}

// File systems that can be mounted in a namespace; the host's own is in the other tests.
func TestFileSystems(t *testing.T) {
	t.Parallel()
	for name, mount := range map[string]string{
		"tmpfs": "mount -t tmpfs none %[1]s; cd %[1]s; mkdir merged lower",
		"overlay": "mount -t tmpfs none %[1]s; cd %[1]s; mkdir l u k l/merged l/lower u/merged; " +
			"mount -t overlay none -o userxattr,lowerdir=l,upperdir=u,workdir=k %[1]s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, given := workspace(t)
			w := begin(t, modeNamespace, given)
			w.do(order{Do: "shell", FD: tree, Name: fmt.Sprintf(mount, path)})
			// The tree's own descriptor is of the mount below; the path leads to the new one.
			top, topKey := w.add(tree, path)
			for _, sub := range []string{"merged", "lower"} {
				_, key := w.add(top, sub)
				w.do(order{Do: "shell", FD: top, Name: "echo a >" + sub + "/f"})
				w.expect(watch.Event{Key: key, Name: "f", What: watch.Created | watch.Content})
				w.do(order{Do: "shell", FD: top, Name: "mv " + sub + "/f g; rm g"})
				w.expect(watch.Event{Key: key, Name: "f", What: watch.Removed},
					watch.Event{Key: topKey, Name: "g", What: watch.Created | watch.Removed})
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	closed := must(os.Open(t.TempDir()))
	mode := modeNamespace
	if os.Getuid() != 0 {
		mode = modePlain // root of a namespace may read all its owner has
	}
	if err := closed.Chmod(0); err != nil {
		t.Fatal(err)
	}
	w := begin(t, mode, closed)
	if a := w.try(order{Do: "add", FD: tree, Key: 1}); a.Why != watch.ErrDenied.Error() || a.Status.Unwatched != 1 {
		t.Errorf("a directory without permission: %+v", a)
	}
	if a := w.find(); a.Told == "" {
		t.Errorf("%+v", a)
	}
	if err := closed.Chmod(0o755); err != nil {
		t.Fatal(err)
	}
	w.do(order{Do: "add", FD: tree, Key: 1})
	if a := w.do(order{Do: "remove", FD: tree, Key: 1}); a.Status != (watch.Status{}) {
		t.Errorf("%+v", a.Status)
	}
	if a := w.try(order{Do: "add", FD: 99, Key: 99}); a.Err == "" {
		t.Error("a descriptor that is not open was taken")
	}
}
