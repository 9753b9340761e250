package state_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// world is a Domain Root and a workspace, with a place outside that nothing may
// touch.
type world struct {
	t                     *testing.T
	place                 state.Place
	held, tree, elsewhere string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{t: t, held: filepath.Join(base, "domain", "workspace", "held"), tree: filepath.Join(base, "tree"), elsewhere: filepath.Join(base, "elsewhere")}
	for _, d := range []string{w.held, w.tree, w.elsewhere} {
		w.must(os.MkdirAll(d, 0o755))
	}
	store, err := state.OpenStore(filepath.Join(base, "domain"))
	w.must(err)
	tree, err := os.Open(w.tree)
	w.must(err)
	t.Cleanup(func() { store.Close(); tree.Close() })
	w.place = state.Place{Store: store, Tree: tree}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(root, at, text string, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(root, at)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), mode))
	return path
}

func (w *world) read(path string) string {
	w.t.Helper()
	data, err := os.ReadFile(path)
	w.must(err)
	return string(data)
}

func (w *world) plan(at string, o state.Options) (*state.Item, error) {
	return state.Plan(context.Background(), w.place, at, o)
}

func (w *world) accept(at string, o state.Options) error {
	item, err := w.plan(at, o)
	if err != nil {
		return err
	}
	return state.Apply(context.Background(), w.place, item, o)
}

func (w *world) gone(path string) {
	w.t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("%q is still there: %v", path, err)
	}
}

// tidy checks that no temporary name and nothing aside is left.
func (w *world) tidy() {
	w.t.Helper()
	_ = filepath.WalkDir(filepath.Dir(w.tree), func(path string, _ os.DirEntry, err error) error {
		if err == nil && (strings.Contains(path, state.Temporary) || strings.Contains(path, "/aside/")) {
			w.t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

// refused checks that err is a Refusal with a way out.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	var r *state.Refusal
	if !errors.As(err, &r) || r.Fix == "" {
		t.Errorf("%s: %v", what, err)
	}
}

// git runs git as a developer who has no configuration.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.elsewhere, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// heldRepository makes a repository sub whose work files are in the tree and whose
// git directory is held.
func (w *world) heldRepository() (gitDir string) {
	w.t.Helper()
	sub := filepath.Join(w.tree, "sub")
	w.must(os.MkdirAll(sub, 0o755))
	w.git(sub, "init", "-q", "-b", "main")
	w.write(sub, "a.txt", "hello\n", 0o644)
	w.git(sub, "add", ".")
	w.git(sub, "commit", "-q", "-m", "first")
	w.git(sub, "tag", "v1")
	w.git(sub, "pack-refs", "--all")
	w.git(sub, "remote", "add", "origin", "https://example.org/x.git")
	gitDir = filepath.Join(w.held, "sub", ".git")
	w.must(os.MkdirAll(filepath.Dir(gitDir), 0o755))
	w.must(os.Rename(filepath.Join(sub, ".git"), gitDir))
	return gitDir
}
