package worktree_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/fault"
)

func (w *world) diff(name string, stat bool) string {
	w.t.Helper()
	var out bytes.Buffer
	if err := w.keeper.Diff(w.t.Context(), name, stat, &out); err != nil {
		w.t.Fatal(err)
	}
	return out.String()
}

// TestDiffShowsEverything: what is committed, what is not, what is new and what is gone,
// whatever the sandbox's index and replaced objects say.
func TestDiffShowsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.start("fix")
	w.commit(l.Path)
	w.write(l.Path, "new file", "of today\n")
	w.write(l.Path, "file", "two\n")
	w.write(l.Path, "ignored", "x\n")
	w.must(os.Remove(filepath.Join(l.Path, ".gitignore")))
	w.must(os.Symlink("/etc/passwd", filepath.Join(l.Path, "link")))
	w.git(l.Path, "update-index", "--assume-unchanged", "file")
	w.git(l.Path, "update-ref", "refs/replace/"+w.git(w.repo, "rev-parse", "main:file"), w.git(l.Path, "hash-object", "-w", "file"))
	before := w.git(w.repo, "count-objects")
	got := w.diff("fix", false)
	for _, want := range []string{"+++ b/committed\n", "+++ b/new file\t\n", "-one\n+two\n", "deleted file mode 100644\nindex ", "+/etc/passwd\n\\ No newline"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "root:") {
		t.Error("a link was followed")
	}
	if stat := w.diff("fix", true); !strings.Contains(stat, "6 files changed") {
		t.Errorf("in short:\n%s", stat)
	}
	if after := w.git(w.repo, "count-objects"); after != before {
		t.Errorf("the repository has %s, had %s", after, before)
	}
	log, err := w.keeper.Log(t.Context(), "fix")
	if err != nil || !strings.HasSuffix(log, " made inside") || strings.Contains(log, "\n") {
		t.Errorf("log %q, %v", log, err)
	}
	w.git(w.repo, "branch", "merged", l.Branch)
	if log, err := w.keeper.Log(t.Context(), "fix"); err != nil || log != "" {
		t.Errorf("what another branch has: %q, %v", log, err)
	}
	w.settle(l)
}

func TestDiffOfNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := w.keeper.Diff(t.Context(), "none", false, &bytes.Buffer{})
	refused(t, err, fault.Usage, `no worktree "none"`)
	l := w.start("fix")
	if got := w.diff("fix", false); got != "" {
		t.Errorf("nothing changed: %q", got)
	}
	w.settle(l)
}

// hostile is a configuration in which everything that can name a program does.
const hostile = `[core]
	fsmonitor = CANARY
	hooksPath = DIR/hooks
	pager = CANARY
	editor = CANARY
	sshCommand = CANARY
	askPass = CANARY
[filter "odd=name"]
	clean = CANARY
	smudge = CANARY
	process = CANARY
	required = true
[diff]
	external = CANARY
[diff "odd"]
	command = CANARY
	textconv = CANARY
[merge "odd"]
	driver = CANARY
[gpg]
	program = CANARY
[log]
	showSignature = true
[alias]
	status = !CANARY
	worktree = !CANARY
[credential]
	helper = CANARY
[include]
	path = DIR/more
`

// TestNothingOfARepositoryRuns does all there is to do in a repository that was handed
// over as a trap, and to whose attributes the sandbox has added (G10, G11).
func TestNothingOfARepositoryRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	canary, marker := filepath.Join(w.dir, "canary"), filepath.Join(w.dir, "ran")
	script := "#!/bin/sh\n: > " + marker + "\nexit 0\n"
	for _, at := range []string{"canary", "hooks/post-checkout", "hooks/reference-transaction", "hooks/post-index-change", "repo/.git/hooks/post-checkout"} {
		w.write(w.dir, at, script)
		w.must(os.Chmod(filepath.Join(w.dir, at), 0o755))
	}
	attributes := "* filter=odd=name diff=odd merge=odd\n*.more filter=more\n"
	w.write(w.repo, ".gitattributes", attributes)
	w.git(w.repo, "add", ".")
	w.git(w.repo, "commit", "-q", "-m", "second")
	place := strings.NewReplacer("CANARY", canary, "DIR", w.dir)
	config, err := os.ReadFile(filepath.Join(w.repo, ".git/config"))
	w.must(err)
	w.write(w.dir, "more", place.Replace("[filter \"more\"]\n\tclean = CANARY\n\tsmudge = CANARY\n"))
	w.write(w.repo, ".git/config", string(config)+place.Replace(hostile))

	l := w.start("fix")
	w.write(l.Path, ".gitattributes", attributes+"x filter=more\n")
	for _, name := range []string{"file", "x", "y.more"} {
		w.write(l.Path, name, "two\n")
	}
	_, err = w.keeper.List(t.Context())
	w.must(err)
	if got := w.diff("fix", false) + w.diff("fix", true); !strings.Contains(got, "-one\n+two\n") || !strings.Contains(got, "y.more") {
		t.Errorf("got\n%s", got)
	}
	_, err = w.keeper.Log(t.Context(), "fix")
	w.must(err)
	w.settle(l)
	again, err := w.keeper.Resume(t.Context(), "shell", "fix")
	w.must(err)
	w.settle(again)
	crashed := w.start("crashed")
	crashed.Crash()
	if out := w.settle(w.start("")); out.Ending != worktree.Removed {
		t.Errorf("%+v", out)
	}
	_, err = w.keeper.Remove(t.Context(), "fix")
	w.must(err)
	if _, err := os.Stat(marker); err == nil {
		t.Error("the canary ran")
	}
	// The developer's own git does run it: the trap is one.
	_, _ = w.tryGit(w.repo, "status")
	if _, err := os.Stat(marker); err != nil {
		t.Error("nothing runs the canary: the trap is none")
	}
}
