package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

// world is one developer's home and workspace, apart from the real ones.
type world struct {
	t        *testing.T
	home, ws string
	flag     string
	environ  []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(root, "home"), ws: filepath.Join(root, "ws")}
	w.mkdir(w.home, w.ws)
	w.environ = []string{"HOME=" + w.home}
	return w
}

func (w *world) mkdir(dirs ...string) {
	w.t.Helper()
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) write(path, text string) string {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) userFile() string { return filepath.Join(w.home, ".config/lazaret/config.toml") }
func (w *world) wsFile() string   { return filepath.Join(w.ws, "lazaret.toml") }

func (w *world) user(text string) *world      { w.write(w.userFile(), text); return w }
func (w *world) workspace(text string) *world { w.write(w.wsFile(), text); return w }

func (w *world) options() config.Options {
	return config.Options{
		Workspace: w.ws, Flag: w.flag, Environ: w.environ, UID: os.Getuid(),
		PasswdHome: func() string { return "" },
	}
}

func (w *world) load() (*config.Config, error) { return config.Load(w.options()) }

func (w *world) mustLoad() *config.Config {
	w.t.Helper()
	c, err := w.load()
	if err != nil {
		w.t.Fatalf("Load: %v\n  fix: %s", err, fault.FixOf(err))
	}
	return c
}

// wantRefused checks that err is a refusal of the kind whose text has every part.
func wantRefused(t *testing.T, err error, kind fault.Kind, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want a refusal with %q", parts)
	}
	if got := fault.KindOf(err); got != kind {
		t.Errorf("kind = %d, want %d (%v)", got, kind, err)
	}
	text := err.Error() + "\n" + fault.FixOf(err)
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("refusal lacks %q:\n%s", p, text)
		}
	}
}

func problems(t *testing.T, err error) config.Problems {
	t.Helper()
	var ps config.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("%v wraps no Problems", err)
	}
	return ps
}
