package hostgit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/hostgit"
)

func TestFiltersPassEverythingThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[filter \"odd\"]\nclean = CANARY\nsmudge = CANARY\nrequired = true\n", "* filter=odd\n")
	r := w.open()
	out, err := r.Output(t.Context(), "cat-file", "--filters", "HEAD:file")
	if err != nil || out != "one" {
		t.Errorf("out of the repository: %q, %v", out, err)
	}
	id, err := r.Output(t.Context(), "hash-object", "-w", "file")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.Output(t.Context(), "cat-file", "-p", id); err != nil || out != "two" {
		t.Errorf("into the repository: %q, %v", out, err)
	}
}

func TestReplacedObjectsAreNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.git("update-ref", "refs/replace/"+w.git("rev-parse", "HEAD:file"), w.git("hash-object", "-w", "file"))
	if shown := w.git("cat-file", "-p", "HEAD:file"); shown != "two" {
		t.Fatalf("git shows %q: nothing is replaced", shown)
	}
	if out, err := w.open().Output(t.Context(), "cat-file", "-p", "HEAD:file"); err != nil || out != "one" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestConfigurationThatCannotBeChecked has beside each that is refused a twin that is not.
func TestConfigurationThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ bad, good string }{
		{"[core\n", "[core]\n"},
		{"[include]\npath = ~other/x\n", "[include]\npath = ~/x\n"},
		{"[include]\npath = %(prefix)/x\n", "[include]\npath = prefix/x\n"},
		{"[include]\npath = config\n", "[include]\npath = none\n"},
		{"[include]\npath = DIR/hooks\n", "[include]\npath = DIR/home/x\n"},
	} {
		if _, err := newWorld(t, row.bad, "").open().Output(t.Context(), "rev-parse", "HEAD"); err == nil || !strings.Contains(err.Error(), "cannot be checked") {
			t.Errorf("%q: %v", row.bad, err)
		}
		if _, err := newWorld(t, row.good, "").open().Output(t.Context(), "rev-parse", "HEAD"); err != nil {
			t.Errorf("%q: %v", row.good, err)
		}
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	linked := filepath.Join(w.dir, "linked")
	w.git("worktree", "add", "-q", linked)
	for _, tree := range []string{w.tree, linked} {
		p, err := hostgit.Locate(tree)
		if err != nil || p.Common != filepath.Join(w.tree, ".git") || p.Tree != tree {
			t.Errorf("%s: %+v, %v", tree, p, err)
		}
	}
	if _, err := hostgit.Locate(w.dir); !errors.Is(err, hostgit.ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
	if _, err := hostgit.Locate(filepath.Join(w.dir, "none")); !errors.Is(err, hostgit.ErrNoRepository) {
		t.Errorf("no folder: %v", err)
	}
}

// TestNobodysFolderNamesAnotherRepository: a folder that was handed over must not lead to a
// repository of the developer's that does not know it.
func TestNobodysFolderNamesAnotherRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.git("worktree", "add", "-q", "../linked")
	private := filepath.Join(w.tree, ".git")
	for name, lay := range map[string]func(tree string){
		"a pointer to the repository":   func(tree string) { w.write(filepath.Join(tree, ".git"), "gitdir: "+private+"\n") },
		"a pointer to another's entry":  func(tree string) { w.write(filepath.Join(tree, ".git"), "gitdir: "+private+"/worktrees/linked\n") },
		"a pointer to an entry it made": func(tree string) { pretend(w, tree, private) },
		"a directory that says commondir": func(tree string) {
			w.write(filepath.Join(tree, ".git/HEAD"), "ref: refs/heads/main\n")
			w.write(filepath.Join(tree, ".git/commondir"), private+"\n")
		},
		"a link": func(tree string) {
			if err := errors.Join(os.MkdirAll(tree, 0o755), os.Symlink(private, filepath.Join(tree, ".git"))); err != nil {
				t.Fatal(err)
			}
		},
	} {
		tree := filepath.Join(w.dir, "other", strings.ReplaceAll(name, " ", "-"))
		lay(tree)
		if p, err := hostgit.Locate(tree); err == nil {
			t.Errorf("%s: found %+v", name, p)
		}
	}
}

// pretend makes a work tree's entry outside the repository it names.
func pretend(w *world, tree, private string) {
	admin := filepath.Join(tree, "admin/worktrees/x")
	w.write(filepath.Join(tree, ".git"), "gitdir: "+admin+"\n")
	w.write(filepath.Join(admin, "commondir"), private+"\n")
	w.write(filepath.Join(admin, "gitdir"), filepath.Join(tree, ".git")+"\n")
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	submodule(w)
	p, err := hostgit.Locate(filepath.Join(w.tree, "sub"))
	if want := filepath.Join(w.tree, ".git/modules/sub"); err != nil || p.Common != want || p.GitDir != want {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestStatusAndComplaints(t *testing.T) {
	t.Parallel()
	r := newWorld(t, "", "").open()
	if _, err := r.Output(t.Context(), "diff", "--quiet"); hostgit.Status(err) != 1 {
		t.Errorf("a diff: %v", err)
	}
	_, err := r.Output(t.Context(), "rev-parse", "--verify", "no\x1b[2Jsuch")
	if hostgit.Status(err) != 128 || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "git rev-parse: fatal") {
		t.Errorf("a failure: %v", err)
	}
}

// broken is a reader that has gone away.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestRunEndsWithItsReaderAndItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.write(filepath.Join(w.tree, "file"), strings.Repeat("a line\n", 1<<17))
	r := w.open()
	if err := r.Run(t.Context(), nil, broken{}, "diff", "--no-ext-diff"); err == nil {
		t.Error("nobody read, and nobody noticed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx, nil, &strings.Builder{}, "cat-file", "--batch"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
