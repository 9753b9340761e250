package guest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/guest"
	"lazaret.dev/lazaret/runtime/guest/control"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	tail := func(threads string) string { return " 0 0 0 0 0 0 0 0 0 0 0 20 0 " + threads + " 0 1 2" }
	for line, want := range map[string]guest.Stat{
		"7 (sh) S 1 7 7" + tail("1"):                   {PID: 7, Parent: 1, Group: 7},
		"7 (a) R 99 99 (b) Z 1 7 7" + tail("1"):        {PID: 7, Parent: 1, Group: 7, Dead: true},
		"7 (multi\nline) Z 3 4 5" + tail("2"):          {PID: 7, Parent: 3, Group: 4},
		"7 () X 3 4 5" + tail("1"):                     {PID: 7, Parent: 3, Group: 4, Dead: true},
		"12 (x)) T 3 4 5" + tail("1") + " 0 0 0 0 0 0": {PID: 12, Parent: 3, Group: 4},
	} {
		if got, ok := guest.ParseStat(line); !ok || got != want {
			t.Errorf("%q = %+v, %v; want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "7", "7 (", "7 )(", "(x) S 1 1 1" + tail("1"), "7 (x) S", "7 (x) S one 1 1" + tail("1")} {
		if got, ok := guest.ParseStat(line); ok {
			t.Errorf("%q was read as %+v", line, got)
		}
	}
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	got := guest.Descendants(map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 6: 1, 7: 7}, 2)
	slices.Sort(got)
	if !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("descendants = %v", got)
	}
	if got := guest.Descendants(map[int]int{2: 3, 3: 2}, 2); len(got) > 2 {
		t.Errorf("a cycle gives %v", got)
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain, tool := filepath.Join(dir, "plain"), filepath.Join(dir, "bin", "tool")
	for path, mode := range map[string]os.FileMode{plain: 0o644, tool: 0o755, filepath.Join(dir, "bin", "plain"): 0o755} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + ":" + plain + ":" + dir + "/bin"
	if got, err := guest.LookPath("tool", path); got != tool || err != nil {
		t.Errorf("tool = %q, %v", got, err)
	}
	if got, err := guest.LookPath("plain", path); got != dir+"/bin/plain" || err != nil {
		t.Errorf("a later executable is not preferred: %q, %v", got, err)
	}
	if got, err := guest.LookPath(tool, ""); got != tool || err != nil {
		t.Errorf("%s = %q, %v", tool, got, err)
	}
	for name, want := range map[string]error{"": fs.ErrNotExist, "absent": fs.ErrNotExist, dir + "/absent": fs.ErrNotExist, plain: fs.ErrPermission, dir: fs.ErrPermission} {
		if _, err := guest.LookPath(name, dir); !errors.Is(err, want) {
			t.Errorf("%q gives %v, want %v", name, err, want)
		}
	}
}

func TestPokeTouchesOnlyTheChangeTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o640); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if err := guest.Poke(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o640 || !info.ModTime().Equal(old) {
		t.Errorf("after the poke: %v, %v", info, err)
	}
	if err := guest.Poke(path + ".absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if err := guest.Poke("relative"); err == nil {
		t.Error("a relative path was poked")
	}
	if err := guest.Poke(filepath.Dir(path)); err != nil {
		t.Errorf("a directory: %v", err)
	}
	if err := os.Symlink("f", path+".link"); err != nil {
		t.Fatal(err)
	}
	if err := guest.Poke(path + ".link"); !errors.Is(err, control.ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, fifo := filepath.Join(dir, "f"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := guest.ReadFile(path, 5); string(b) != "12345" || err != nil {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
	for name, c := range map[string]struct {
		path  string
		limit int64
		want  error
	}{
		"too large": {path, 4, control.ErrTooLarge},
		"fifo":      {fifo, 9, control.ErrNotRegular},
		"directory": {dir, 9, control.ErrNotRegular},
		"device":    {"/dev/zero", 9, control.ErrNotRegular},
		"absent":    {path + "x", 9, fs.ErrNotExist},
	} {
		if _, err := guest.ReadFile(c.path, c.limit); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestWriteFileReplacesALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "a", "b", "link")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := guest.WriteFile(link, 0o600, []byte("first")); err != nil {
		t.Fatal("a file with new parents: ", err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := guest.WriteFile(link, 0o755, []byte("second")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(target); string(b) != "mine" {
		t.Errorf("the link was followed: %q", b)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("written: %v, %v", info, err)
	}
	left, err := os.ReadDir(filepath.Dir(link))
	if err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
	if err := guest.WriteFile(dir, 0o600, nil); err == nil {
		t.Error("a directory was replaced by a file")
	}
}
