package anchor_test

import (
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/anchor"
)

// newLayer returns a layer over a lower with the given links, and both directories.
func newLayer(t *testing.T, dirs []string, links map[string]string) (l *anchor.Layer, top, lower string) {
	t.Helper()
	top, lower = t.TempDir(), t.TempDir()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(lower, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(lower, name)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := anchor.NewLayer(top, lower)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, top, lower
}

func file(path string) runtime.GuestFile {
	return runtime.GuestFile{Path: path, Mode: 0o640, Data: []byte("x")}
}

func TestLinksOfTheImageStayInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, c := range map[string]struct{ link, target, path, want string }{
		"a merged directory":           {"bin", "usr/bin", "/bin/tool", "usr/bin/tool"},
		"an absolute link":             {"lib", "/usr/lib", "/lib/tool", "usr/lib/tool"},
		"a link to the host":           {"evil", outside, "/evil/tool", outside[1:] + "/tool"},
		"a link up and out":            {"usr/up", "../../../../..", "/usr/up/tool", "tool"},
		"a dangling link":              {"none", "gone/away", "/none/tool", "gone/away/tool"},
		"a link in the file's place":   {"tool", outside + "/target", "/tool", "tool"},
		"dots in what is asked for":    {"x", "usr", "/../../x/../usr/./tool", "usr/tool"},
		"a link to a link's directory": {"usr/two", "../bin2", "/usr/two/tool", "bin2/tool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, top, _ := newLayer(t, []string{"usr/bin", "usr/lib"}, map[string]string{c.link: c.target})
			if err := l.Add(file(c.path)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(filepath.Join(top, c.want))
			if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o640 {
				t.Errorf("not at %s: %v", c.want, err)
			}
		})
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
}

func TestLinkLoopsAreRefused(t *testing.T) {
	t.Parallel()
	l, _, _ := newLayer(t, nil, map[string]string{"a": "b", "b": "a"})
	if err := l.Add(file("/a/tool")); err == nil {
		t.Error("a loop was followed")
	}
	if err := l.Add(file("/c/tool")); err != nil {
		t.Error(err)
	}
}

func TestDirectoriesAreLikeTheLowers(t *testing.T) {
	t.Parallel()
	l, top, lower := newLayer(t, []string{"root", "tmp"}, nil)
	for name, mode := range map[string]os.FileMode{"root": 0o700, "tmp": 0o777 | os.ModeSticky} {
		if err := os.Chmod(filepath.Join(lower, name), mode); err != nil {
			t.Fatal(err)
		}
		if err := l.AddPoint("/" + name + "/point/"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(filepath.Join(top, name))
		if err != nil || info.Mode()&^os.ModeDir != mode {
			t.Errorf("%s: mode %v, want %v: %v", name, info.Mode(), mode, err)
		}
	}
	if info, err := os.Lstat(filepath.Join(top, "root/point")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a new directory: %v", err)
	}
}

func TestAnchorsThatAreLinksAreRefused(t *testing.T) {
	t.Parallel()
	l, top, _ := newLayer(t, []string{"usr/bin"}, map[string]string{"bin": "usr/bin"})
	err := l.AddAnchorPoints([]runtime.Anchor{{Path: "/bin"}})
	if fault.KindOf(err) != fault.Config || fault.FixOf(err) != `name "/usr/bin" instead` {
		t.Errorf("got %v, fix %q", err, fault.FixOf(err))
	}
	if err := l.AddAnchorPoints([]runtime.Anchor{{Path: "/usr/bin"}, {Path: "/new/place"}}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(top, "new/place")); err != nil {
		t.Error(err)
	}
}

func TestHomeOfAnAnchor(t *testing.T) {
	t.Parallel()
	if home, err := anchor.Home(runtime.Anchor{Upper: "/s/a/upper", Work: "/s/a/work"}); err != nil || home != "/s/a" {
		t.Errorf("%q, %v", home, err)
	}
	for _, a := range []runtime.Anchor{{Upper: "/s/a/upper", Work: "/s/b/work"}, {Upper: "/s/a", Work: "/s/a"}} {
		if _, err := anchor.Home(a); err == nil {
			t.Errorf("accepted %+v", a)
		}
	}
}
