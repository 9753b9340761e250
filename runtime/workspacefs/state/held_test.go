package state_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

func (w *world) report(o state.HeldOptions) state.Report {
	w.t.Helper()
	r, err := state.Held(w.t.Context(), w.place, o)
	w.must(err)
	return r
}

func summary(list []state.Found) string {
	var out []string
	for _, f := range list {
		line := fmt.Sprintf("%s: %s", f.Path, f.Class)
		if f.Acceptable {
			line += " +"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.tree, ".gitignore", "node_modules/\n*.log\n.env\n", 0o644)
	w.write(w.tree, "web/.gitignore", "dist\n", 0o644)
	w.write(w.tree, ".git/config", "", 0o644)
	w.write(w.tree, ".git/info/exclude", "mine\n", 0o644)
	for at, text := range map[string]string{
		".git/rebase-merge/todo": "x", ".git/worktrees/w/HEAD": "x", "lib/.git/HEAD": "x", "sub/.git": "gitdir: /x",
		".env": "KEY=1", ".envrc": "export", "node_modules/a/.git/HEAD": "x", "node_modules/b.js": "12345",
		"web/dist/x": "1", "dist/x": "1", "debug.log": "1", "mine": "1", "global": "1",
	} {
		w.write(w.held, at, text, 0o644)
	}
	w.must(unix.Mkfifo(filepath.Join(w.held, "pipe"), 0o644))
	w.must(os.Symlink(w.elsewhere, filepath.Join(w.held, "link")))
	r := w.report(state.HeldOptions{Secrets: []string{".env"}, Global: []byte("global\n")})
	want := `.env: secret +
.envrc: waits +
.git/rebase-merge: git state
.git/worktrees: worktree entry
dist/x: waits +
lib/.git: git directory +
link: waits
pipe: special file
sub/.git: git pointer`
	if got := summary(r.Found); got != want {
		t.Errorf("found\n%s", got)
	}
	if got := summary(r.Ignored); got != "debug.log: ignored by git +\nglobal: ignored by git +\nmine: ignored by git +\nnode_modules: ignored by git +\nweb/dist: ignored by git +" {
		t.Errorf("ignored\n%s", got)
	}
	if modules := r.Ignored[3]; modules.Bytes != 6 || modules.Entries != 4 || r.More || r.Unread != 0 {
		t.Errorf("%+v, %+v", modules, r)
	}
}

func TestHeldIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.tree, ".gitignore", "n\n", 0o644)
	for i := range 50 {
		w.write(w.held, fmt.Sprintf("n/%d", i), "x", 0o644)
	}
	r := w.report(state.HeldOptions{MaxEntries: 20})
	if !r.More || len(r.Ignored) != 1 || !r.Ignored[0].More || r.Ignored[0].Entries > 20 {
		t.Errorf("%+v", r)
	}
	deep := filepath.Join(w.held, strings.Repeat("d/", 200))
	w.must(os.MkdirAll(deep, 0o755))
	if r := w.report(state.HeldOptions{}); !strings.Contains(summary(r.Found), "nested too deeply") {
		t.Errorf("%s", summary(r.Found))
	}
	w.must(os.Truncate(w.write(w.held, "huge", "", 0o644), 1<<40))
	w.must(os.MkdirAll(filepath.Join(w.held, "n/m"), 0o755))
	w.must(os.Truncate(w.write(w.held, "n/m/sparse", "", 0o644), 1<<40))
	if r := w.report(state.HeldOptions{}); r.Ignored[0].Bytes > 1<<20 {
		t.Errorf("a sparse file counts %d bytes", r.Ignored[0].Bytes)
	}
}

func TestHeldTellsRuleFilesAndWhatLiesAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.tree, ".gitignore", "new", 0o644)
	w.write(w.tree, "a/.gitignore", "the host's", 0o644)
	pins := journal.NewPins()
	w.must(pins.ByGuest(".gitignore", []byte("new")))
	w.must(pins.ByGuest("a/.gitignore", []byte("theirs")))
	data, err := pins.Snapshot()
	w.must(err)
	w.must(journal.SaveIn(w.place.Store, journal.PinsName)(data, true))
	w.write(filepath.Dir(w.held), "aside/00000000000000000000000000000001/path", "lost", 0o600)
	if got := summary(w.report(state.HeldOptions{}).Found); got != ".gitignore: rule file +\nlost: half accepted" {
		t.Error(got)
	}
}

// Domain storage itself can be anything but a way out.
func TestStoreIsConfined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.elsewhere, "f", "x", 0o644)
	w.must(os.Remove(w.held))
	w.must(os.Symlink(w.elsewhere, w.held))
	if r, err := state.Held(t.Context(), w.place, state.HeldOptions{}); err == nil || len(r.Found) != 0 {
		t.Errorf("a linked held: %v, %v", r, err)
	}
	if _, err := w.plan("f", state.Options{}); err == nil {
		t.Error("accepted through a linked held")
	}
	root := t.TempDir()
	w.must(os.Symlink(w.elsewhere, filepath.Join(root, "workspace")))
	if _, err := state.OpenStore(root); err == nil {
		t.Error("opened a linked Domain storage")
	}
	if _, err := state.OpenStore(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no Domain storage: %v", err)
	}
}
