package state_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

func TestAcceptAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := w.write(w.held, "a/.envrc", "export X=1\n", 0o600)
	item, err := w.plan("a/.envrc", state.Options{})
	w.must(err)
	if item.Kind != state.FileItem || string(item.Preview) != "export X=1\n" || len(item.Parents) != 1 || string(item.Parents[0]) != "a" {
		t.Errorf("%+v", item)
	}
	w.must(state.Apply(t.Context(), w.place, item, state.Options{}))
	to := filepath.Join(w.tree, "a/.envrc")
	if info, err := os.Lstat(to); err != nil || info.Mode() != 0o644 || w.read(to) != "export X=1\n" {
		t.Errorf("%v, %v", info, err)
	}
	w.gone(from)
	w.tidy()
}

// An executable stays one; the bits that give it others' rights do not.
func TestAcceptDropsSpecialModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := w.write(w.held, "tool", "#!/bin/sh\n", 0o700)
	w.must(os.Chmod(from, 0o777|os.ModeSetuid|os.ModeSetgid))
	w.must(w.accept("tool", state.Options{}))
	if info, err := os.Lstat(filepath.Join(w.tree, "tool")); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAcceptADirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.held, "d/sub/x", "x", 0o644)
	w.write(w.held, "d/bin/run", "r", 0o755)
	w.must(os.Symlink("../sub/x", filepath.Join(w.held, "d/bin/link")))
	_, err := w.plan("d", state.Options{Running: true})
	refused(t, "a directory of a running sandbox", err)
	w.must(w.accept("d", state.Options{}))
	if w.read(filepath.Join(w.tree, "d/bin/link")) != "x" {
		t.Error("the link leads nowhere")
	}
	if info, err := os.Stat(filepath.Join(w.tree, "d/sub")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	w.gone(filepath.Join(w.held, "d"))
	w.tidy()
}

func TestAcceptNeverOverwrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.held, "f", "theirs", 0o644)
	w.write(w.tree, "f", "ours", 0o644)
	refused(t, "a file of the host", w.accept("f", state.Options{}))
	if w.read(filepath.Join(w.tree, "f")) != "ours" {
		t.Error("overwritten")
	}
	item, err := w.plan("f", state.Options{Replace: true})
	if err != nil || !item.Replaces {
		t.Fatalf("%v", err)
	}
	w.must(state.Apply(t.Context(), w.place, item, state.Options{Replace: true}))
	if w.read(filepath.Join(w.tree, "f")) != "theirs" {
		t.Error("not replaced")
	}
	w.write(w.held, "g", "theirs", 0o644)
	late, err := w.plan("g", state.Options{})
	w.must(err)
	w.write(w.tree, "g", "ours", 0o644) // after it was shown
	refused(t, "a file that has appeared", state.Apply(t.Context(), w.place, late, state.Options{}))
	if w.read(filepath.Join(w.tree, "g")) != "ours" || w.read(filepath.Join(w.held, "g")) != "theirs" {
		t.Error("something was lost")
	}
	w.tidy()
}

// What is applied is what was shown, or nothing.
func TestAcceptRefusesWhatHasChangedSince(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, at string) error{
		"content": func(_ *world, at string) error { return os.WriteFile(at, []byte("evil"), 0o644) },
		"longer":  func(_ *world, at string) error { return os.WriteFile(at, []byte("goodgood"), 0o644) },
		"link": func(w *world, at string) error {
			return errors.Join(os.Remove(at), os.Symlink(filepath.Join(w.elsewhere, "secret"), at))
		},
		"gone": func(_ *world, at string) error { return os.Remove(at) },
		"parent is a link": func(w *world, at string) error {
			w.write(w.elsewhere, "f", "good", 0o644)
			return errors.Join(os.RemoveAll(filepath.Dir(at)), os.Symlink(w.elsewhere, filepath.Dir(at)))
		},
	} {
		w := newWorld(t)
		w.write(w.elsewhere, "secret", "good", 0o644)
		at := w.write(w.held, "d/f", "good", 0o644)
		item, err := w.plan("d/f", state.Options{})
		w.must(err)
		w.must(change(w, at))
		refused(t, name, state.Apply(t.Context(), w.place, item, state.Options{}))
		w.gone(filepath.Join(w.tree, "d/f"))
		w.tidy()
	}
}

// TestAcceptRefusesHostileContent: a plain file is the twin of each.
func TestAcceptRefusesHostileContent(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(w *world, at string) error{
		"":              func(w *world, at string) error { return os.WriteFile(at, nil, 0o644) },
		"absolute link": func(_ *world, at string) error { return os.Symlink("/etc/passwd", at) },
		"climbing link": func(_ *world, at string) error { return os.Symlink("../../x", at) },
		"climbing late": func(_ *world, at string) error { return os.Symlink("a/../../x", at) },
		"link into git": func(_ *world, at string) error { return os.Symlink(".git/hooks", at) },
		"fifo":          func(_ *world, at string) error { return unix.Mkfifo(at, 0o644) },
		"socket":        func(_ *world, at string) error { return unix.Mknod(at, unix.S_IFSOCK|0o644, 0) },
		"hard link":     func(w *world, at string) error { return os.Link(filepath.Join(w.elsewhere, "secret"), at) },
		"git file":      func(w *world, at string) error { w.write(filepath.Dir(at), ".git", "gitdir: x", 0o644); return nil },
		"git in capitals": func(w *world, at string) error {
			w.write(filepath.Dir(at), ".GIT/config", "x", 0o644)
			return nil
		},
		"bare repository": func(w *world, at string) error {
			w.write(filepath.Dir(at), "HEAD", "ref: refs/heads/x", 0o644)
			return os.Mkdir(filepath.Join(filepath.Dir(at), "objects"), 0o755)
		},
		"link to proc": func(_ *world, at string) error { return os.Symlink("/proc/self/mem", at) },
		"huge file": func(w *world, at string) error {
			return os.Truncate(w.write(filepath.Dir(at), "x", "", 0o644), 1<<40)
		},
	} {
		w := newWorld(t)
		w.write(w.elsewhere, "secret", "s", 0o644)
		w.must(os.MkdirAll(filepath.Join(w.held, "d"), 0o755))
		w.must(make(w, filepath.Join(w.held, "d", "x")))
		err := w.accept("d", state.Options{})
		if name == "" {
			w.must(err)
			continue
		}
		refused(t, name, err)
		w.gone(filepath.Join(w.tree, "d"))
		w.tidy()
	}
}

func TestAcceptRefusesNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, at := range []string{"", ".", "..", "../held/f", "/etc", "a//b", "lazaret.toml", ".git/config", "sub/.git/hooks/x", ".GIT", ".lazaret-accept-x", "none"} {
		_, err := w.plan(at, state.Options{})
		refused(t, at, err)
	}
	for _, at := range []string{"link", "pipe"} {
		w.must(map[string]func(string) error{
			"link": func(p string) error { return os.Symlink("f", p) },
			"pipe": func(p string) error { return unix.Mkfifo(p, 0o644) },
		}[at](filepath.Join(w.held, at)))
		_, err := w.plan(at, state.Options{})
		refused(t, at, err)
	}
	w.write(w.held, "sub/lazaret.toml", "x", 0o644)
	w.must(w.accept("sub/lazaret.toml", state.Options{}))
}

// The workspace's own links are not followed either: the sandbox made some of them.
func TestAcceptFollowsNoLinkOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.held, "d/f", "x", 0o644)
	w.write(w.held, "e", "x", 0o644)
	w.must(os.Symlink(w.elsewhere, filepath.Join(w.tree, "d")))
	w.must(os.Symlink(filepath.Join(w.elsewhere, "e"), filepath.Join(w.tree, "e")))
	refused(t, "through a link", w.accept("d/f", state.Options{Replace: true}))
	refused(t, "onto a link", w.accept("e", state.Options{Replace: true}))
	w.gone(filepath.Join(w.elsewhere, "f"))
	w.gone(filepath.Join(w.elsewhere, "e"))
}

// A link that stays in the workspace leads into .git all the same, and one that stays
// in Domain storage to what was not shown.
func TestAcceptFollowsNoInnerLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.held, "d/pre-commit", "x", 0o755)
	w.write(w.tree, ".git/hooks/README", "x", 0o644)
	w.must(os.Symlink(".git/hooks", filepath.Join(w.tree, "d")))
	refused(t, "into .git", w.accept("d/pre-commit", state.Options{}))
	w.gone(filepath.Join(w.tree, ".git/hooks/pre-commit"))
	w.must(os.Remove(filepath.Join(w.tree, "d")))
	w.must(w.accept("d/pre-commit", state.Options{}))

	w.write(w.held, "real/sub/f", "x", 0o644)
	w.must(os.Symlink("real", filepath.Join(w.held, "alias")))
	if err := w.accept("alias/sub/f", state.Options{}); err == nil {
		t.Error("followed a link in Domain storage")
	}
	w.gone(filepath.Join(w.tree, "alias"))
	w.must(w.accept("real/sub/f", state.Options{}))
}

func TestAcceptCompletesNoBareRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.tree, "r/config", "[core]\n", 0o644)
	w.must(os.MkdirAll(filepath.Join(w.tree, "r/objects"), 0o755))
	w.write(w.held, "r/HEAD", "ref: refs/heads/x\n", 0o644)
	refused(t, "HEAD beside objects", w.accept("r/HEAD", state.Options{}))
	w.write(w.held, "s/HEAD", "a headline\n", 0o644)
	w.must(w.accept("s/HEAD", state.Options{}))
}

func TestAcceptARuleFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.write(w.tree, ".gitignore", "!secret\n", 0o644)
	w.pin(map[string]journal.Pin{
		".gitignore":      {Content: []byte("secret\n"), By: journal.Guest, Written: digest([]byte("!secret\n"))},
		"gone/.gitignore": {Content: []byte("x\n"), By: journal.Guest, Written: digest([]byte("\x00removed\x00gone/.gitignore"))},
	})
	_, err := w.plan(".gitignore", state.Options{Running: true})
	refused(t, "a running Domain", err)
	item, err := w.plan(".gitignore", state.Options{})
	w.must(err)
	if item.Kind != state.RuleItem || string(item.Was) != "secret\n" || item.Removal {
		t.Errorf("%+v", item)
	}
	w.must(os.WriteFile(at, []byte("!all\n"), 0o644))
	refused(t, "changed since", state.Apply(t.Context(), w.place, item, state.Options{}))
	w.must(os.WriteFile(at, []byte("!secret\n"), 0o644))
	refused(t, "started since", state.Apply(t.Context(), w.place, item, state.Options{Running: true}))
	w.must(state.Apply(t.Context(), w.place, item, state.Options{}))
	w.must(w.accept("gone/.gitignore", state.Options{}))
	refused(t, "twice", w.accept(".gitignore", state.Options{}))
	back, err := journal.OpenPins(w.place.Store)
	w.must(err)
	if pin, _ := back.Get(".gitignore"); pin.By != journal.Host || string(pin.Content) != "!secret\n" {
		t.Errorf("%+v", pin)
	}
	if pin, _ := back.Get("gone/.gitignore"); pin.By != journal.Host || !pin.Absent {
		t.Errorf("%+v", pin)
	}
}

func digest(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

func (w *world) pin(all map[string]journal.Pin) {
	w.t.Helper()
	pins := journal.NewPins()
	w.must(pins.Replace(all))
	data, err := pins.Snapshot()
	w.must(err)
	w.must(journal.SaveIn(w.place.Store, journal.PinsName)(data, true))
}

// An acceptance that was cut off after the sandbox's copy had left is undone.
func TestRecover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	aside := filepath.Join(filepath.Dir(w.held), "aside")
	one, two, three := "00000000000000000000000000000001", "00000000000000000000000000000002", "00000000000000000000000000000003"
	w.write(aside, one+"/path", "d/f", 0o600)
	w.write(aside, one+"/item", "kept", 0o644)
	w.must(os.MkdirAll(filepath.Join(w.held, "d"), 0o755))
	w.write(aside, two+"/item/deep/x", "finished", 0o644) // its path is gone
	w.write(aside, three+"/path", "../../escape", 0o600)
	back, err := state.Recover(w.place.Store)
	if err != nil || len(back) != 1 || back[0] != "d/f" || w.read(filepath.Join(w.held, "d/f")) != "kept" {
		t.Errorf("%v, %v", back, err)
	}
	w.tidy()
	w.write(aside, one+"/path", "d/f", 0o600)
	w.write(aside, one+"/item", "older", 0o644)
	back, err = state.Recover(w.place.Store)
	if err != nil || len(back) != 1 || w.read(filepath.Join(w.held, "d/f")) != "kept" || w.read(filepath.Join(w.held, back[0])) != "older" {
		t.Errorf("beside a new one: %v, %v", back, err)
	}
	if back, err := state.Recover(w.place.Store); err != nil || len(back) != 0 {
		t.Errorf("nothing to recover: %v, %v", back, err)
	}
}
