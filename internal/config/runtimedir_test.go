package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

func TestRuntimeDirOrder(t *testing.T) {
	t.Parallel()
	root := shortDir(t)
	xdg := []string{"XDG_RUNTIME_DIR=" + root}
	got, err := config.RuntimeDir("", xdg, os.Getuid())
	if err != nil || got != root+"/lazaret" {
		t.Errorf("RuntimeDir = %q, %v", got, err)
	}
	if info, err := os.Stat(got); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if got, err = config.RuntimeDir("", xdg, os.Getuid()); err != nil || got != root+"/lazaret" {
		t.Errorf("a second time: %q, %v", got, err)
	}
	if got, err = config.RuntimeDir(root+"/own", xdg, os.Getuid()); err != nil || got != root+"/own" {
		t.Errorf("override: %q, %v", got, err)
	}
}

// The variable may be missing, or be that of the user one came from by su.
func TestRuntimeDirWithoutXDG(t *testing.T) {
	t.Parallel()
	want := fmt.Sprintf("/tmp/lazaret-%d", os.Getuid())
	open := shortDir(t)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, environ := range [][]string{nil, {"XDG_RUNTIME_DIR="}, {"XDG_RUNTIME_DIR=relative"}, {"XDG_RUNTIME_DIR=/nowhere"}, {"XDG_RUNTIME_DIR=" + open}} {
		if got, err := config.RuntimeDir("", environ, os.Getuid()); err != nil || got != want {
			t.Errorf("%q: RuntimeDir = %q, %v, want %q", environ, got, err, want)
		}
	}
}

func TestRuntimeDirRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(dir string) error
		uid   int
		why   string
	}{
		"open to others":   {func(d string) error { return os.Mkdir(d, 0o700|0o055) }, os.Getuid(), "others may enter it"},
		"a link":           {func(d string) error { return os.Symlink(os.TempDir(), d) }, os.Getuid(), "not a directory"},
		"a file":           {func(d string) error { return os.WriteFile(d, nil, 0o600) }, os.Getuid(), "not a directory"},
		"somebody else's":  {func(d string) error { return os.Mkdir(d, 0o700) }, os.Getuid() + 1, "belongs to user"},
		"no parent":        {func(d string) error { return os.Remove(filepath.Dir(d)) }, os.Getuid(), "no such file"},
		"harmless":         {func(d string) error { return os.Mkdir(d, 0o700) }, os.Getuid(), ""},
		"harmless, absent": {func(string) error { return nil }, os.Getuid(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(shortDir(t), "run")
			if err := tc.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, err := config.RuntimeDir(dir, nil, tc.uid)
			if tc.why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantRefused(t, err, fault.Config, dir, tc.why, "chmod 700")
		})
	}
	long := "/tmp/a-directory-whose-name-is-so-long-that-no-socket-below-it-fits-into-its-address"
	_, err := config.RuntimeDir(long, nil, os.Getuid())
	wantRefused(t, err, fault.Config, "bytes")
}

// shortDir is a temporary directory whose name leaves room for socket paths.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lzrt") // t.TempDir's names are too long here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
