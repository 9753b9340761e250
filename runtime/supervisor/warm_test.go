package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWarmDirectory(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, dir := range []string{".git/objects", "a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "a", "out": "/"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := openPath(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	names, queue := warmDirectory(root, ".", nil, 100)
	slices.Sort(queue)
	if names != 6 || !slices.Equal(queue, []string{"a", "c"}) {
		t.Errorf("the top: %d names, and %q follow; want 6, and a and c", names, queue)
	}
	if names, queue = warmDirectory(root, "a", []string{"c"}, 100); names != 1 || !slices.Equal(queue, []string{"c", "a/b"}) {
		t.Errorf("a: %d names, and %q follow", names, queue)
	}
	if names, _ = warmDirectory(root, ".", nil, 2); names != 2 {
		t.Errorf("with a limit of 2: %d names", names)
	}
	for _, name := range []string{"link", "out", "file", "gone", "../" + filepath.Base(top)} {
		if names, queue = warmDirectory(root, name, nil, 100); names != 1 || len(queue) != 0 {
			t.Errorf("%s: %d names, and %q follow; want it passed over", name, names, queue)
		}
	}
}
