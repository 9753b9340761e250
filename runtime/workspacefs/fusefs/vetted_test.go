package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// trusting decides that "index" is vetted and everything else ordinary, and accepts
// what says "good".
type trusting struct{}

type plainDir struct{}

func (plainDir) Path() string { return "" }

func (trusting) Root() route.Directory { return plainDir{} }
func (trusting) Generation() uint64    { return 0 }
func (trusting) Name(_ route.Directory, name string, _ route.Names) route.Verdict {
	return route.Verdict{Class: route.Shared, Vetted: name == "index"}
}
func (trusting) Enter(route.Directory, string, route.Verdict, route.Look) route.Directory {
	return plainDir{}
}
func (trusting) Check(_ route.Directory, _ string, content []byte) error {
	if string(content) != "good" {
		return errors.New("hostile")
	}
	return nil
}

// bareView is a view of a host directory with index.lock that nothing is mounted from.
func bareView(t *testing.T) (v *view, root string) {
	t.Helper()
	root = t.TempDir()
	config := Config{Router: trusting{}, Vetter: trusting{}}
	for name, at := range map[string]**os.File{"host": &config.Host, "held": &config.Held, "transient": &config.Transient} {
		path := filepath.Join(root, name)
		err := os.Mkdir(path, 0o755)
		if err == nil {
			*at, err = os.Open(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*at).Close() })
	}
	old := unix.Umask(0o22)
	t.Cleanup(func() { unix.Umask(old) })
	fs, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	root += "/host"
	if err := os.WriteFile(root+"/index.lock", []byte("good"), 0o644); err != nil {
		t.Fatal(err)
	}
	return fs.views[Tree], root
}

func (v *view) nodeOf(t *testing.T, name string) (*node, *found) {
	t.Helper()
	f, err := v.lookup(v.workspace, name)
	if err != nil || f.st == nil {
		t.Fatalf("look up %q: %v", name, err)
	}
	return v.table.look(v.workspace, name, f), f
}

func (v *view) move(from, to string) error {
	_, err := v.rename(&end{dir: v.workspace, name: from}, &end{dir: v.workspace, name: to}, 0)
	return err
}

// A write that has begun would end behind the look.
func TestNothingIsVettedWhileItIsWritten(t *testing.T) {
	v, _ := bareView(t)
	n, _ := v.nodeOf(t, "index.lock")
	w, err := v.writable(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.move("index.lock", "index"); !errors.Is(err, unix.EBUSY) {
		t.Errorf("renamed during a write: %v", err)
	}
	if err := v.move("index.lock", "ordinary"); err != nil {
		t.Errorf("renamed to an ordinary name: %v", err)
	}
	w.end()
	if err := v.move("ordinary", "index"); err != nil {
		t.Errorf("after the write: %v", err)
	}
	if _, err := v.writable(n); !errors.Is(err, unix.EROFS) {
		t.Errorf("by its old number: %v", err)
	}
}

// A look-up that was overtaken by the rename knows the file by its old name, and by
// what was decided about that.
func TestAnOvertakenLookupOpensNoWay(t *testing.T) {
	v, root := bareView(t)
	n, before := v.nodeOf(t, "index.lock")
	if err := v.move("index.lock", "index"); err != nil {
		t.Fatal(err)
	}
	if v.table.look(v.workspace, "index.lock", before) != n {
		t.Fatal("another node")
	}
	if _, err := v.writable(n); !errors.Is(err, unix.EROFS) {
		t.Errorf("open for writing: %v", err)
	}
	err := v.link(n, &making{dir: v.workspace, name: "second", backend: host, fd: v.fs.roots[host], verdict: route.Verdict{Class: route.Shared}})
	if !errors.Is(err, unix.EROFS) {
		t.Errorf("a second name: %v", err)
	}
	if data, err := os.ReadFile(root + "/index"); err != nil || string(data) != "good" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestVettingNeedsSomebodyWhoJudges(t *testing.T) {
	v, root := bareView(t)
	if err := os.WriteFile(root+"/bad", []byte("bad"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := v.move("bad", "index"); !errors.Is(err, unix.EROFS) {
		t.Errorf("%v", err)
	}
	v.fs.config.Vetter = nil
	if err := v.move("index.lock", "index"); !errors.Is(err, unix.EROFS) {
		t.Errorf("%v", err)
	}
}
