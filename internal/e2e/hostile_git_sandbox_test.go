//go:build sandbox

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// family makes the workspace a repository with a nested one, a submodule with a
// submodule of its own, and a linked work tree.
func family(t *testing.T, h *e2e.Home) {
	t.Helper()
	repository(t, h)
	for _, name := range []string{"inner", "outer"} {
		up := h.Elsewhere()
		repository(t, up)
		if name == "outer" {
			up.Git("submodule", "--quiet", "add", filepath.Join(h.Dir, "inner"), "in")
			up.Git("commit", "-q", "-m", "a submodule")
		}
		if err := os.Rename(up.Workspace, filepath.Join(h.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.Git("submodule", "--quiet", "add", filepath.Join(h.Dir, "outer"), "libs/deep")
	h.Git("submodule", "--quiet", "update", "--init", "--recursive")
	h.Git("commit", "-q", "-m", "a submodule")
	h.Git("worktree", "add", "-q", "wt")
	h.Git("init", "-q", "vendor/sub")
	h.Write("vendor/sub/file", "one\n")
	h.Git("-C", "vendor/sub", "add", "file")
	h.Git("-C", "vendor/sub", "commit", "-q", "-m", "first")
}

// TestG01G02G04G06G07GitDirectories attacks git directories of every kind in one
// sandbox, and has the host's git work in each after.
func TestG01G02G04G06G07GitDirectories(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	family(t, h)
	const module, inner, admin = ".git/modules/libs/deep", ".git/modules/libs/deep/modules/in", ".git/worktrees/wt"
	// A rename that is refused makes mv copy and remove, so what it leaves is compared too.
	exchange := func(a, b string) string {
		return "perl -e 'my ($a, $b) = @ARGV; exit(syscall(316, -100, $a, -100, $b, 2) == 0 ? 0 : 1)' " + a + " " + b
	}
	attacks := []attack{
		{"G01", c.plant("vendor/sub/.git/hooks/pre-commit"), "echo x > vendor/sub/new"},
		{"G01", c.plant("vendor/sub/.git/hooks/post-commit"), "git -C vendor/sub add new"},
		{"G02", c.plant(module + "/hooks/pre-commit"), "git -C libs/deep status"},
		{"G02", "echo [core] >> " + module + "/config", "cat " + module + "/config"},
		{"G02", c.plant(inner + "/hooks/pre-commit"), "git -C libs/deep/in status"},
		{"G02", "git config -f " + inner + "/config core.fsmonitor x", "cat " + inner + "/config"},
		{"G04", "echo /tmp > " + admin + "/commondir", "cat " + admin + "/commondir"},
		{"G04", "echo /tmp > " + admin + "/gitdir", "cat " + admin + "/gitdir"},
		{"G04", "ln -s /etc " + admin + "/objects", "test -f " + admin + "/HEAD"},
		{"G04", "echo [core] > " + admin + "/config.worktree", "git -C vendor/sub log"},
		{"G04", "echo gitdir: /tmp > wt/.git", "cat wt/.git"},
		{"G06", "perl -e 'rename(\".git\", \"g\") or exit 1'", "mkdir g && perl -e 'rename(\"g\", \"g2\") or exit 1'"},
		{"G06", "perl -e 'rename(\"vendor/sub/.git\", \"vendor/sub/g\") or exit 1'", "mkdir vendor/sub/g && rmdir vendor/sub/g"},
		{"G06", "perl -e 'rename(\"vendor/sub\", \"vendor/gone\") or exit 1'", "mkdir vendor/two && perl -e 'rename(\"vendor/two\", \"vendor/three\") or exit 1'"},
		{"G06", "perl -e 'rename(\"vendor\", \"gone\") or exit 1'", "mkdir two && perl -e 'rename(\"two\", \"three\") or exit 1'"},
		{"G06", "perl -e 'rename(\"libs\", \"gone\") or exit 1'", "test -d libs/deep"},
		{"G06", "perl -e 'rename(\"wt\", \"gone\") or exit 1'", "test -d wt"},
		{"G06", "perl -e 'rename(\".git/modules\", \".git/m\") or exit 1'", "test -d .git/modules"},
		{"G06", "perl -e 'rename(\"" + admin + "\", \"gone\") or exit 1'", "test -d " + admin},
	}
	for _, target := range []string{"config", "hooks/pre-commit", "hooks/pre-commit.sample"} {
		attacks = append(attacks,
			attack{"G07 rename", "echo x > .git/index.lock; perl -e 'rename(\".git/index.lock\", \".git/" + target + "\") or exit 1'", "rm -f .git/index.lock"},
			attack{"G07 rename over", "echo x > y; perl -e 'rename(\"y\", \".git/" + target + "\") or exit 1'", "echo x > y; perl -e 'rename(\"y\", \"z\") or exit 1'"},
			attack{"G07 link", "echo x > y; ln y .git/" + target, "echo x > y; ln y y2; rm y2"},
			attack{"G07 exchange", "echo x > .git/FETCH_HEAD; " + exchange(".git/FETCH_HEAD", ".git/"+target), "echo x > a; echo y > b; " + exchange("a", "b") + "; grep y a"},
			attack{"G07 exchange from outside", exchange("y", ".git/"+target), "rm -f a b"})
	}
	before := obeyed(t, h.Workspace)
	attempt(t, h, attacks)
	h.AwaitStopped()
	if after := obeyed(t, h.Workspace); after != before {
		t.Errorf("what git obeys was\n%s\nand is\n%s", before, after)
	}
	commit := func() {
		for _, dir := range []string{".", "vendor/sub", "libs/deep", "libs/deep/in", "wt"} {
			h.Git("-C", dir, "commit", "-q", "--allow-empty", "-m", "after")
		}
	}
	commit()
	c.silent("committing everywhere")
	executable(t, h, "vendor/sub/.git/hooks/pre-commit", c.program())
	commit()
	c.fires("with a hook of the host's own")
}

// TestG08G19HostGitWhileRunning configures, adds work trees and collects garbage on the
// host under a command that goes on inside.
func TestG08G19HostGitWhileRunning(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	held := h.Open("run", "--", "sh", "-c", "exec 9<.git/config 8<.git/index; git status; echo busy; exec cat")
	held.Shows("busy")
	for i := range 3 {
		value := strings.Repeat("x", i+1)
		h.Git("config", "a.b", value)
		inside := h.Sh("git config a.b; echo '[core]' >> .git/config; git config a.b other; git config a.b")
		if want := value + "\n" + value + "\n"; inside.Stdout != want {
			t.Errorf("G08: after the host set %q: %v", value, inside)
		}
	}
	if h.Git("config", "a.b") != "xxx\n" {
		t.Error("G08: the host's configuration is the sandbox's")
	}
	h.Git("worktree", "add", "-q", "../wt")
	h.Git("commit", "-q", "--allow-empty", "-m", "under the sandbox")
	h.Git("gc", "--quiet")
	h.Git("fsck", "--no-dangling")
	if got := h.Must("git log -1 --format=%s"); got != "under the sandbox\n" {
		t.Errorf("G19: inside, the last commit is %q", got)
	}
	held.End()
}

// TestG10G11OwnUseOfGit has every command of Lazaret's own look at a repository whose
// configuration names programs.
func TestG10G11OwnUseOfGit(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	repository(t, h)
	executable(t, h, "../trap", c.program())
	trap := filepath.Join(h.Dir, "trap")
	h.Write(".gitattributes", "* filter=odd diff=odd merge=odd\n")
	h.Git("add", ".gitattributes")
	h.Git("commit", "-q", "-m", "attributes")
	h.Git("branch", "kept")
	for _, setting := range []string{"core.fsmonitor", "filter.odd.clean", "filter.odd.smudge", "filter.odd.process", "diff.odd.textconv", "diff.odd.command",
		"diff.external", "core.pager", "core.editor", "gpg.program", "core.sshCommand"} {
		h.Git("config", setting, trap)
	}
	h.Git("config", "commit.gpgSign", "true")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit"} {
		executable(t, h, ".git/hooks/"+hook, c.program())
	}
	os.Remove(c.path) // the commands above may have run it
	h.ConfigureShell("git.mode = \"worktree\"", "")
	held := h.Open("run", "--name", "one", "--", "sh", "-c", "echo two > file; echo up; exec cat")
	held.Shows("up")
	for _, args := range [][]string{{"status"}, {"ps"}, {"doctor"}, {"config", "show"}, {"state", "changes"}, {"state", "held"}, {"state", "worktrees"},
		{"state", "diff", "one"}, {"state", "accept", "--yes", "file"}} {
		h.Lazaret(args...)
		c.silent(strings.Join(args, " "))
	}
	held.End()
	h.Lazaret("state", "worktrees", "remove", "--yes", "one")
	h.ConfigureShell("", "")
	h.AwaitStopped()
	if r := h.Sh("cat file"); r.Stdout != "one\n" {
		t.Errorf("%v", r)
	}
	c.silent("the life of two sandboxes")
	h.Git("update-ref", "refs/heads/other", "HEAD")
	c.fires("with git itself")
}

// TestG13G14WhatGitObeys edits inside what the host's configuration refers to: the
// workspace's own and that of a repository in it.
func TestG13G14WhatGitObeys(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	repository(t, h)
	h.Git("init", "-q", "vendor/sub")
	quiet := "#!/bin/sh\nexit 0\n"
	for _, name := range []string{"tools/hooks/pre-commit", "tools/fsmonitor", "tools/clean", "tools/linked", "vendor/sub/ci/hooks/pre-commit", "vendor/sub/linked", "tools/free"} {
		executable(t, h, name, quiet)
	}
	h.Write("build/one.inc", "[user]\n\tname = Included\n")
	h.Write("build/two.inc", "[user]\n\tname = Conditional\n")
	h.Git("add", "-A", "tools", "build")
	h.Git("commit", "-q", "-m", "tools")
	h.Git("config", "include.path", "../build/one.inc")
	h.Git("config", "includeIf.gitdir:/nowhere/.path", "../build/two.inc")
	h.Git("config", "extensions.worktreeConfig", "true")
	h.Git("config", "--worktree", "core.hooksPath", "tools/hooks")
	h.Git("config", "filter.odd.clean", "tools/clean %f")
	h.Git("config", "merge.odd.driver", "./tools/clean %A")
	h.Git("-C", "vendor/sub", "config", "core.hooksPath", "ci/hooks")
	for link, target := range map[string]string{".git/hooks/post-commit": "../../tools/linked", "vendor/sub/.git/hooks/post-checkout": "../../linked"} {
		if err := os.Symlink(target, filepath.Join(h.Workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	attempt(t, h, []attack{
		{"G13 include", "echo x >> build/one.inc", "echo x >> build/three.inc"},
		{"G13 includeIf", "echo x >> build/two.inc", "cat build/two.inc"},
		{"G13 replaced", "echo x > n; perl -e 'rename(\"n\", \"build/one.inc\") or exit 1'", "echo x > n; perl -e 'rename(\"n\", \"build/n\") or exit 1'"},
		{"G14 config.worktree", c.plant("tools/hooks/pre-commit"), "echo x >> tools/free"},
		{"G14 new hook", c.plant("tools/hooks/pre-push"), "echo x > tools/new"},
		{"G14 replaced", "rm tools/hooks/pre-commit", "rm tools/new"},
		{"G14 parent", "perl -e 'rename(\"tools\", \"gone\") or exit 1'", "mkdir t && perl -e 'rename(\"t\", \"t2\") or exit 1'"},
		{"G14 filter", c.plant("tools/clean"), "cat tools/clean"},
		{"G14 link", c.plant("tools/linked"), "cat tools/linked"},
		{"G14 nested", c.plant("vendor/sub/ci/hooks/pre-commit"), "echo x > vendor/sub/ci/free"},
		{"G14 nested link", c.plant("vendor/sub/linked"), "echo x > vendor/sub/free"},
	})
	// The host sets one more while the sandbox runs; the descriptor is older than the rule.
	held := h.Open("run", "--", "bash", "-c", "exec 9>>tools/fsmonitor; echo up; read -r _; echo '"+"touch "+c.path+"' >&9; echo \"wrote $?\"; exec cat")
	held.Shows("up")
	h.Git("config", "core.fsmonitor", "tools/fsmonitor")
	e2e.Await(t, "the new setting to count inside", func() bool { return h.Sh("echo >> tools/fsmonitor").Code != 0 })
	held.Type("\n")
	held.Shows("wrote 1")
	held.End()
	for _, dir := range []string{".", "vendor/sub"} {
		h.Git("-C", dir, "status", "--short")
		h.Git("-C", dir, "commit", "-q", "--allow-empty", "-m", "after")
	}
	c.silent("status and commits on the host")
	executable(t, h, "tools/linked", c.program())
	executable(t, h, "tools/hooks/pre-commit", c.program())
	h.Git("commit", "-q", "--allow-empty", "-m", "with the host's own")
	c.fires("with a hook of the host's own")
}

// TestG04G16NamesOutside starts on workspaces that were prepared: with links and other
// names of files that are not the sandbox's.
func TestG04G16NamesOutside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	secret := h.Write("../secret", "secret\n")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	git := filepath.Join(h.Workspace, ".git")
	must(os.Link(git+"/config", h.Workspace+"/innocent"))
	refusal(t, h, h.Sh("true"), 124, ".git/config", "hard link", "fix:")
	must(os.Remove(h.Workspace + "/innocent"))
	must(os.Symlink(filepath.Dir(secret), git+"/modules"))
	refusal(t, h, h.Sh("true"), 124, ".git/modules", "link", "fix:")
	must(os.Remove(git + "/modules"))
	h.Git("worktree", "add", "-q", "../wt")
	must(os.Symlink(filepath.Dir(secret), git+"/worktrees/wt/objects"))
	refusal(t, h, h.Sh("true"), 124, "worktrees/wt/objects", "fix:")
	must(os.Remove(git + "/worktrees/wt/objects"))
	must(os.Link(secret, h.Workspace+"/linked"))
	attempt(t, h, []attack{
		{"G16 write", "echo x >> linked", "echo x >> file"},
		{"G16 truncate", ": > linked", ": > file"},
		{"G16 another name", "ln linked l2 && echo x >> l2", "ln file f2 && echo x >> f2"},
	})
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret\n" {
		t.Errorf("G16: the file outside is %q, %v", data, err)
	}
}

// TestG17RepositoryMadeInside makes one where the host has none.
func TestG17RepositoryMadeInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	h.Write("file", "one\n")
	if got := h.Must("git init -q && " + c.plant(".git/hooks/pre-commit") + " && git add file && git -c user.name=a -c user.email=a@b commit -q --no-verify -m inside && git log --format=%s"); got != "inside\n" {
		t.Errorf("inside: %q", got)
	}
	if left := listing(t, h.Workspace); strings.Contains(left, ".git") {
		t.Errorf("on the host:\n%s", left)
	}
	cmd := h.Command()
	cmd.Path, cmd.Args = "/usr/bin/env", []string{"env", "git", "rev-parse", "--show-toplevel"}
	if r := h.Finish(cmd); r.Code == 0 {
		t.Errorf("the host has a repository at %q", r.Stdout)
	}
	h.AwaitStopped()
	h.Git("init", "-q")
	h.Git("add", "file")
	h.Git("commit", "-q", "-m", "outside")
	c.silent("a commit on the host")
	if got := h.Must("git log --format=%s"); got != "outside\n" {
		t.Errorf("the host's repository is, inside: %q", got)
	}
	executable(t, h, ".git/hooks/pre-commit", c.program())
	h.Git("commit", "-q", "--allow-empty", "-m", "again")
	c.fires("with a hook of the host's own")
}

// TestG18NothingIsLeftByAKilledStart kills the supervisor earlier and later in its
// start.
func TestG18NothingIsLeftByAKilledStart(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Git("init", "-q", "--template=")
	before := listing(t, h.Workspace)
	for range 3 {
		c := h.Open("run", "--", "sleep", "1000")
		e2e.Await(t, "the supervisor", func() bool {
			for _, k := range h.Family() {
				if k.Role == "supervisor" {
					k.Kill(t)
					return true
				}
			}
			return false
		})
		c.Wait()
		h.AwaitStopped()
		if after := listing(t, h.Workspace); after != before {
			t.Errorf("the workspace was\n%s\nand is\n%s", before, after)
		}
	}
	h.Must("true")
	h.AwaitStopped()
	if after := listing(t, h.Workspace); after != before {
		t.Errorf("after a whole life, the workspace was\n%s\nand is\n%s", before, after)
	}
}

// TestG20SubmodulesMadeInside adds hostile submodules, by everything that can tell the
// host's git of one.
func TestG20SubmodulesMadeInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	repository(t, h)
	inside := h.Open("run", "--", "bash", "-c", "echo up; while read -r line; do eval \"$line\"; done")
	inside.Shows("up")
	inside.Type("git init -q /tmp/up; git -C /tmp/up commit -q --allow-empty -m up; id=$(git -C /tmp/up rev-parse HEAD); git clone -q /tmp/up cloned; " +
		c.plant("cloned/.git/hooks/post-checkout") + "; git -c protocol.file.allow=always submodule --quiet add /tmp/up good; " +
		c.plant(".git/modules/good/hooks/post-checkout") + "; git update-index --add --cacheinfo 160000,$id,evil; git commit -qm submodules && echo ma''de\n")
	inside.Shows("made")
	if left := listing(t, h.Workspace); strings.Contains(left, `cloned/.git"`) || strings.Contains(left, "modules/good") {
		t.Errorf("on the host:\n%s", left)
	}
	up := h.Elsewhere()
	repository(t, up)
	if err := os.Rename(up.Workspace, filepath.Join(h.Dir, "up")); err != nil {
		t.Fatal(err)
	}
	for i, evil := range []string{
		"[submodule \"evil\"]\\npath=evil\\nurl=../up\\nupdate=!touch " + c.path,
		"[submodule \"evil\"]\\npath=evil\\nurl=ext::touch " + c.path,
		"[submodule \"evil\"]\\npath=evil\\nurl=--upload-pack=touch " + c.path,
		"[submodule \"../../evil\"]\\npath=evil\\nurl=../up",
		"[submodule \"evil\"]\\npath=../evil\\nurl=../up",
	} {
		done := "written " + string(rune('0'+i))
		inside.Type("printf '" + evil + "\\n' > .gitmodules; echo " + done[:3] + "''" + done[3:] + "\n")
		inside.Shows(done)
		for _, command := range []string{"status --short", "submodule status", "submodule init", "submodule update --init", "fetch --recurse-submodules", "diff --submodule=log"} {
			cmd := h.Command()
			cmd.Path, cmd.Args = "/usr/bin/env", append([]string{"env", "git"}, strings.Fields(command)...)
			h.Finish(cmd) // most of it is refused
			c.silent("git " + command + " with " + evil)
		}
		if _, err := os.Lstat(filepath.Join(h.Dir, "evil")); err == nil {
			t.Errorf("a submodule outside with %s", evil)
		}
	}
	inside.End()
	h.Write(".gitmodules", "[submodule \"evil\"]\npath=evil\nurl="+filepath.Join(h.Dir, "up")+"\n")
	h.Git("update-index", "--cacheinfo", "160000,"+strings.TrimSpace(h.Git("-C", "../up", "rev-parse", "HEAD"))+",evil")
	h.Git("config", "submodule.evil.url", filepath.Join(h.Dir, "up"))
	h.Git("config", "submodule.evil.update", "!touch "+c.path+" #")
	h.Git("submodule", "update", "--init", "evil")
	c.fires("with a setting of the host's own")
}

// TestG23G24LinkedWorkTree works in one that the host made, and moves it away.
func TestG23G24LinkedWorkTree(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	main := h.Elsewhere()
	repository(t, main)
	main.Git("worktree", "add", "-q", "-b", "side", h.Workspace)
	c := h.Open("run", "--", "bash", "-c", "echo up; while read -r line; do eval \"$line\"; done")
	c.Shows("up")
	c.Type("git config user.name; echo two > file && git add file && git commit -q -m inside && git branch more && echo three > file && git stash -q && cat file && git stash pop -q && cat file && git status --short; echo wor''ked\n")
	c.Shows("two\nthree\n M file\nworked")
	if got := main.Git("log", "--format=%s", "side"); got != "inside\nfirst\n" {
		t.Errorf("G23: %q", got)
	}
	main.Git("worktree", "move", h.Workspace, filepath.Join(h.Dir, "moved"))
	c.Type("echo four > file; git commit -qam away; echo aft''er\n")
	c.Shows("after")
	c.End()
	main.Git("fsck", "--no-dangling")
	if got := main.Git("-C", filepath.Join(h.Dir, "moved"), "status", "--short", "--branch"); !strings.HasPrefix(got, "## side") {
		t.Errorf("G24: %q", got)
	}
	if err := os.Mkdir(h.Workspace, 0o700); err != nil { // the test's own end looks there
		t.Fatal(err)
	}
}

// TestIndexCoversNothingHidden has the index name what the host has and the sandbox is
// not shown: a checkout on the host would put the sandbox's file over it.
func TestIndexCoversNothingHidden(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Git("init", "-q")
	h.Write(".gitignore", "/dist/\n")
	h.Write("main.go", "package main\n")
	h.Git("add", ".")
	h.Git("commit", "-q", "-m", "one")
	for _, name := range []string{".env", "dist/app", ".vscode/tasks.json"} {
		h.Write(name, "the host's\n")
	}
	stage := func(path string) string {
		return "git update-index --add --cacheinfo 100644,$(echo evil | git hash-object -w --stdin)," + path
	}
	attempt(t, h, []attack{
		{"a stand-in", stage(".env"), stage(".env.example")},
		{"an ignored file", stage("dist/app"), stage("dist2/app")},
		{"a masked file", stage(".vscode/tasks.json"), stage("vscode/tasks.json")},
		{"Lazaret's configuration", stage("lazaret.toml"), stage("sub/lazaret.toml")},
		{"by force", "git add -f .env", "echo x > new && git add new"},
	})
	h.AwaitStopped()
	h.Git("checkout", ".")
	for _, name := range []string{".env", "dist/app", ".vscode/tasks.json"} {
		if data, err := os.ReadFile(filepath.Join(h.Workspace, name)); err != nil || string(data) != "the host's\n" {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
}
