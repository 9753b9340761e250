package image_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// tree makes a directory tree with links inside, around and above.
func tree(tb testing.TB) string {
	tb.Helper()
	root := tb.TempDir()
	for _, d := range []string{"usr/lib/deep", "etc", "run"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	put(tb, root, "etc/file", []byte("x"))
	for name, to := range map[string]string{
		"lib": "usr/lib", "abs": "/usr/lib", "above": "../../etc", "up": "usr/lib/../../etc", "loop": "loop",
		"gone": "/no/such", "back": "lib/deep", "usr/lib/top": "../../..", "tofile": "etc/file", "outside": "/tmp",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

func TestLocateFollowsLinksBelowTheRoot(t *testing.T) {
	t.Parallel()
	root := tree(t)
	for name, want := range map[string]string{
		"f": "f", "usr/lib/f": "usr/lib/f", "lib/f": "usr/lib/f", "abs/f": "usr/lib/f", "up/f": "etc/f",
		"back/f": "usr/lib/deep/f", "new/dir/f": "new/dir/f", "lib": "lib", "lib/new/f": "usr/lib/new/f",
	} {
		got, err := image.Locate(root, name)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestLocateRefusesParents(t *testing.T) {
	t.Parallel()
	root := tree(t)
	for _, name := range []string{"above/f", "loop/f", "gone/f", "usr/lib/top/f", "tofile/f", "etc/file/f", "outside/f"} {
		got, err := image.Locate(root, name)
		var refusal *vet.Refusal
		if !errors.As(err, &refusal) || refusal.Rule != vet.RuleParent || refusal.Name != name {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// FuzzLocate: whatever links there are, a located path has none and lies below.
func FuzzLocate(f *testing.F) {
	f.Add("a/b/c", "a", "../b", "b", "/")
	f.Add("l/f", "l", "/x", "x", "y")
	f.Fuzz(func(t *testing.T, name, link, to, link2, to2 string) {
		parts, refusal := vet.DefaultLimits().Name(name)
		if refusal != nil || len(parts) == 0 {
			return
		}
		root := t.TempDir()
		for _, l := range [][2]string{{link, to}, {link2, to2}} {
			if base, refusal := vet.DefaultLimits().Name(l[0]); refusal == nil && len(base) > 0 {
				path := filepath.Join(append([]string{root}, base...)...)
				_ = os.MkdirAll(filepath.Dir(path), 0o755)
				_ = os.Symlink(l[1], path)
			}
		}
		got, err := image.Locate(root, strings.Join(parts, "/"))
		if err != nil {
			return
		}
		for dir := filepath.Dir(got); dir != "."; dir = filepath.Dir(dir) {
			if strings.HasPrefix(dir, "..") || filepath.IsAbs(dir) {
				t.Fatalf("%q is located at %q", name, got)
			}
			if info, err := os.Lstat(filepath.Join(root, dir)); err == nil && !info.IsDir() {
				t.Fatalf("%q is located at %q, where %q is no directory", name, got, dir)
			}
		}
	})
}
