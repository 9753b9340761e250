package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/fault"
)

// treeWorld is a configWorld whose workspace is a repository with one commit.
type treeWorld struct {
	t      *testing.T
	ws     string
	marker string // made by the canary
	keeper worktree.Keeper
}

func newTreeWorld(t *testing.T) *treeWorld {
	t.Helper()
	home, ws := configWorld(t)
	w := &treeWorld{t: t, ws: ws, marker: filepath.Join(home, "ran"),
		keeper: worktree.Keeper{DataRoot: filepath.Join(home, ".local/share/lazaret"), Workspace: ws, Environ: os.Environ()}}
	w.write(filepath.Join(home, "canary"), "#!/bin/sh\n: > "+w.marker+"\n")
	if err := os.Chmod(filepath.Join(home, "canary"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(ws, "file"), "one\n")
	w.write(filepath.Join(ws, ".gitattributes"), "* filter=odd diff=odd\n")
	w.git("init", "-q", "-b", "main", ".")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "first")
	config, err := os.ReadFile(filepath.Join(ws, ".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(ws, ".git/config"), string(config)+strings.ReplaceAll(`[core]
	fsmonitor = CANARY
	pager = CANARY
[filter "odd"]
	clean = CANARY
	smudge = CANARY
	required = true
[diff "odd"]
	command = CANARY
	textconv = CANARY
`, "CANARY", filepath.Join(home, "canary")))
	return w
}

func (w *treeWorld) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// git is the developer's own, without what the repository would have it run.
func (w *treeWorld) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null", "-c", "filter.odd.required=false",
		"-c", "filter.odd.clean=", "-c", "filter.odd.smudge=", "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir = w.ws
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// kept is a work tree that a session left with a commit, a change and a new file whose name
// and content would steer a terminal.
func (w *treeWorld) kept(name string) {
	w.t.Helper()
	l, err := w.keeper.Start(w.t.Context(), "shell", name, func(string) {})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join(l.Path, "committed"), "x\n")
	w.git("-C", l.Path, "add", "committed")
	w.git("-C", l.Path, "commit", "-q", "-m", "made inside")
	w.write(filepath.Join(l.Path, "file"), "two\n")
	w.write(filepath.Join(l.Path, "evil\x1b[2Jname"), "\x1b[2J\n")
	var out bytes.Buffer
	writeOutcome(&out, l.Settle(w.t.Context()))
	for _, want := range []string{"worktree " + name + " is kept: 1 commit, 2 changes not committed\n", l.Path, "lazaret state diff " + name + "\n",
		"git merge lazaret/agent-" + name + "\n", "lazaret run --resume " + name + "\n", "lazaret state worktrees remove " + name + "\n"} {
		if !strings.Contains(out.String(), want) {
			w.t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func (w *treeWorld) run(stdin string, args ...string) string {
	w.t.Helper()
	out, err := runState(w.t, stdin, args...)
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// TestWorktreeCommands in a repository that would run a canary (G10, G11).
func TestWorktreeCommands(t *testing.T) {
	w := newTreeWorld(t)
	if out := w.run("", "worktrees"); out != "No session of this workspace has a worktree or left one.\n" {
		t.Errorf("none: %q", out)
	}
	if out := w.run("", "worktrees", "--json"); out != "[]\n" {
		t.Errorf("none: %q", out)
	}
	w.kept("fix")
	if out := w.run("", "worktrees"); !strings.Contains(out, "fix    shell     kept    1 commit, 2 changes not committed   lazaret/agent-fix   "+w.keeper.Path("fix")) {
		t.Errorf("got\n%s", out)
	}
	var list []worktreeJSON
	if err := json.Unmarshal([]byte(w.run("", "worktrees", "--json")), &list); err != nil || len(list) != 1 ||
		list[0].Commits != 1 || len(list[0].Changed) != 2 || list[0].Running || list[0].State != "kept" {
		t.Errorf("%+v, %v", list, err)
	}
	if out := w.run("", "diff", "fix"); !strings.Contains(out, "-one\n+two\n") || !strings.Contains(out, "+++ b/committed") || !strings.Contains(out, "\x1b[2J") {
		t.Errorf("got\n%s", out)
	}
	if out := w.run("", "diff", "--stat", "fix"); !strings.Contains(out, "3 files changed") {
		t.Errorf("got\n%s", out)
	}
	out, err := runState(t, "\n", "worktrees", "remove", "fix")
	if fault.FixOf(err) == "" || !strings.Contains(out, "made inside") || !strings.Contains(out, `"evil\x1b[2Jname"`) || !strings.Contains(out, "[y/N]") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(w.keeper.Path("fix")); err != nil {
		t.Error("removed without a yes")
	}
	w.run("y\n", "worktrees", "remove", "fix")
	if left := w.git("branch", "--list", "lazaret/*"); left != "" {
		t.Errorf("branches: %s", left)
	}
	w.kept("again")
	w.run("", "worktrees", "remove", "--yes", "again")
	stateFails(t, fault.Usage, "diff", "again")
	stateFails(t, fault.Usage, "worktrees", "remove", "again")
	stateFails(t, fault.Usage, "held", "--worktree", "again")
	if _, err := os.Stat(w.marker); err == nil {
		t.Error("the canary ran")
	}
}

// TestStateOfAWorktree asks the other state commands about one.
func TestStateOfAWorktree(t *testing.T) {
	w := newTreeWorld(t)
	w.kept("fix")
	stateFails(t, fault.Workspace, "held", "--worktree", "fix") // no sandbox has used it
	s := &stateWorld{t: t, ws: w.keeper.Path("fix")}
	s.openDomain("shell", w.keeper.DataRoot)
	s.held(".envrc", "x")
	if out := w.run("", "held", "--worktree", "fix"); !strings.Contains(out, ".envrc") {
		t.Errorf("got\n%s", out)
	}
	w.run("", "accept", "--yes", "--worktree", "fix", ".envrc")
	if data, err := os.ReadFile(filepath.Join(s.ws, ".envrc")); err != nil || string(data) != "x" {
		t.Errorf("accepted: %q, %v", data, err)
	}
	if out := w.run("", "changes", "--worktree", "fix"); out != "The sandbox changed nothing.\n" {
		t.Errorf("got\n%s", out)
	}
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &plainLines{out: &out}
	for _, part := range []string{"one\x1b", "[2J\ntw", "o\nrest\x07"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := p.flush(); err != nil || out.String() != `one\x1b[2J`+"\ntwo\n"+`rest\x07` {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestResumeNeedsAWorktree(t *testing.T) {
	w := newTreeWorld(t)
	w.kept("kept")
	for want, args := range map[string][]string{
		`no worktree "fix"`:                {"--resume", "fix"},
		"work in the workspace itself":     {"--resume", "kept"},
		"--resume for one there is":        {"--name", "a", "--resume", "kept"},
		"cannot be the name of a worktree": {"--resume", "../up"},
	} {
		cmd := newRootCommand()
		cmd.SetArgs(append([]string{"run"}, args...))
		if err := cmd.Execute(); err == nil || fault.KindOf(err) != fault.Usage || fault.FixOf(err) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
