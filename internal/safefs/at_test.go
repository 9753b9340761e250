package safefs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/safefs"
)

func openDir(t *testing.T) (*os.File, string) {
	t.Helper()
	path := t.TempDir()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir, path
}

func TestReplaceAtAndReadAt(t *testing.T) {
	t.Parallel()
	dir, path := openDir(t)
	for _, d := range []safefs.Durability{safefs.Durable, safefs.Cached} {
		if err := safefs.ReplaceAt(dir, "record", []byte("new"), d); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := safefs.ReadAt(dir, "record", 3); err != nil || string(b) != "new" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := safefs.ReadAt(dir, "record", 2); !errors.Is(err, safefs.ErrTooLarge) {
		t.Errorf("above the limit: %v", err)
	}
	if _, err := safefs.ReadAt(dir, "none", 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if info, err := os.Lstat(filepath.Join(path, "record")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestReadAtRefusesWhatIsNoFileOfItsOwn: the plain file beside is read.
func TestReadAtRefusesWhatIsNoFileOfItsOwn(t *testing.T) {
	t.Parallel()
	dir, path := openDir(t)
	at := func(name string) string { return filepath.Join(path, name) }
	for _, name := range []string{"plain", "target"} {
		if err := os.WriteFile(at(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, make := range map[string]func(string) error{
		"link":  func(p string) error { return os.Symlink("plain", p) },
		"fifo":  func(p string) error { return unix.Mkfifo(p, 0o600) },
		"named": func(p string) error { return os.Link(at("target"), p) },
		"dir":   func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		if err := make(at(name)); err != nil {
			t.Fatal(err)
		}
		if _, err := safefs.ReadAt(dir, name, 10); !errors.Is(err, safefs.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a\x00"} {
		if _, err := safefs.ReadAt(dir, name, 10); err == nil {
			t.Errorf("read %q", name)
		}
		if err := safefs.ReplaceAt(dir, name, nil, safefs.Cached); err == nil {
			t.Errorf("wrote %q", name)
		}
	}
	if _, err := safefs.ReadAt(dir, "plain", 10); err != nil {
		t.Error(err)
	}
}

func TestReplaceAtReplacesALink(t *testing.T) {
	t.Parallel()
	dir, path := openDir(t)
	kept := filepath.Join(path, "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, filepath.Join(path, "record")); err != nil {
		t.Fatal(err)
	}
	if err := safefs.ReplaceAt(dir, "record", []byte("new"), safefs.Cached); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(kept); string(b) != "kept" {
		t.Errorf("the link was followed: %q", b)
	}
}
