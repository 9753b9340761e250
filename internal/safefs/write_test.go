package safefs_test

import (
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/safefs"
)

func TestWritePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	elsewhere, path := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "made", "record")
	if err := safefs.WritePrivate(elsewhere, []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if err := safefs.WritePrivate(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if b, _ := os.ReadFile(path); string(b) != "new" {
		t.Errorf("content %q", b)
	}
	if b, _ := os.ReadFile(elsewhere); string(b) != "kept" {
		t.Errorf("the link was followed: %q", b)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
