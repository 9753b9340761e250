//go:build sandbox

package e2e_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"lazaret.dev/lazaret/internal/e2e"
)

// TestW01WhatHostToolsRun writes files that tools on the host run or obey.
func TestW01WhatHostToolsRun(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	h.Write(".vscode/settings.json", "{}\n")
	h.Write(".github/workflows/ci.yml", "on: push\n")
	h.Write(".husky/pre-commit", "true\n")
	h.Git("add", "-A")
	h.Git("commit", "-q", "-m", "tools")
	kept := []string{".envrc", "sub/.envrc", ".vscode/tasks.json", "sub/.idea/workspace.xml", ".claude/settings.json", ".mcp.json", "x.code-workspace",
		".devcontainer/devcontainer.json", ".pre-commit-config.yaml", ".cargo/config.toml", "rust-toolchain.toml", ".nvim.lua", ".Envrc", ".pdbrc", ".yarnrc"}
	told := []string{".github/workflows/new.yml", ".github/workflows/ci.yml", ".husky/pre-commit", "CLAUDE.md"}
	script := "set -e; "
	for _, name := range append(append([]string{}, kept...), told...) {
		script += "mkdir -p $(dirname " + name + "); echo planted >> " + name + "; cat " + name + "; "
	}
	h.Must(script + "echo plain > plain")
	attempt(t, h, []attack{
		{"W01 tracked settings", "echo planted >> .vscode/settings.json", "cat .vscode/settings.json"},
		{"W01 a second name", "ln .github/workflows/ci.yml other", "ln plain other; rm other"},
		{"W01 moved there with a second name", "echo x > n; ln n n2; perl -e 'rename(\"n\", \".github/workflows/n.yml\") or exit 1'",
			"echo x > n; rm -f n2; perl -e 'rename(\"n\", \".github/workflows/n.yml\") or exit 1'"},
	})
	for _, name := range kept {
		if h.Read(name) != "" {
			t.Errorf("%s is on the host", name)
		}
	}
	for _, name := range append(told, "plain") {
		if !strings.Contains(h.Read(name), "pla") {
			t.Errorf("%s is not on the host", name)
		}
	}
	if h.Read(".vscode/settings.json") != "{}\n" {
		t.Error("tracked settings of the editor were written")
	}
	changes := h.Lazaret("state", "changes").Stdout
	loud, rest, _ := strings.Cut(changes, "other files:")
	for _, name := range told {
		if !strings.Contains(loud, name) {
			t.Errorf("%s is not among what tools run or obey:\n%s", name, changes)
		}
	}
	if !strings.Contains(rest, "plain") {
		t.Errorf("a plain file is told of otherwise:\n%s", changes)
	}
	held := h.Lazaret("state", "held").Stdout
	if !strings.Contains(held, ".envrc") || !strings.Contains(held, ".mcp.json") {
		t.Errorf("what waits:\n%s", held)
	}
	if r := h.Lazaret("state", "accept", "--yes", ".envrc"); r.Code != 0 || h.Read(".envrc") != "planted\n" {
		t.Errorf("accepted: %v, %q", r, h.Read(".envrc"))
	}
}

// TestW02Interpreters replaces the programs that the host's tools start.
func TestW02Interpreters(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	repository(t, h)
	quiet := "#!/bin/sh\nexit 0\n"
	h.Write(".gitignore", "build-env/\n/link\n")
	programs := []string{".venv/bin/python", "Venv/bin/python", "build-env/bin/python", "node_modules/.bin/tsc", "sub/node_modules/.bin/tsc"}
	for _, name := range programs {
		executable(t, h, name, quiet)
	}
	if err := os.Symlink(".venv", filepath.Join(h.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, name := range append([]string{"link/bin/python"}, programs...) {
		script += "mkdir -p $(dirname " + name + "); " + c.plant(name) + "; test -x " + name + " || exit 1; "
	}
	h.Must(script)
	// An environment is one by its mark too, whatever its name.
	h.Must("mkdir -p odd/bin; echo home=/usr/bin > odd/pyvenv.cfg")
	for _, name := range append([]string{"link/bin/python"}, programs...) {
		if h.Read(name) != quiet {
			t.Errorf("%s on the host is %q", name, h.Read(name))
		}
	}
	if h.Read("odd/pyvenv.cfg") != "" {
		t.Error("a directory made inside is an environment on the host")
	}
	h.AwaitStopped()
	if got := h.Must("cat .venv/bin/python node_modules/.bin/tsc"); got != c.program()+c.program() {
		t.Errorf("inside, what was installed is %q", got)
	}
}

// TestW03W04F16OwnSettings tries to widen the sandbox from within, and starts with a
// repository that has commands to be run by whoever opens it.
func TestW03W04F16OwnSettings(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := newBird(t, h)
	repository(t, h)
	h.Write(".devcontainer/devcontainer.json", `{"initializeCommand": "touch `+c.path+`"}`)
	h.Write("package.json", `{"scripts": {"preinstall": "touch `+c.path+`"}}`)
	executable(t, h, ".envrc", c.program())
	attempt(t, h, []attack{
		{"W03 create", "echo '[profiles.shell]' > lazaret.toml", "echo x > other.toml"},
		{"W03 rename", "echo x > n; perl -e 'rename(\"n\", \"lazaret.toml\") or exit 1'", "echo x > n; perl -e 'rename(\"n\", \"o.toml\") or exit 1'"},
		{"W03 link", "ln -s other.toml lazaret.toml", "ln -s other.toml l; rm l"},
		{"W03 directory", "mkdir lazaret.toml", "mkdir d && rmdir d"},
		{"W03 other case", "echo x > Lazaret.TOML", "echo x > Lazaret.md"},
		{"F16 working directory", "cd /proc/1/cwd/../../../../.. && test -e " + h.Dir, "cd /proc/self/cwd && test -e file"},
		{"F16 descriptors", "cat /proc/[0-9]*/fd/*/" + h.Dir + "/ws/file", "cat /proc/self/cwd/file"},
		{"F16 configuration", "test -e " + h.ConfigFile(), "test -e /etc/passwd"},
		{"F16 sockets", "test -e " + h.Runtime, "test -e /tmp"},
	})
	h.AwaitStopped()
	if h.Read("lazaret.toml") != "" || h.Read("Lazaret.TOML") != "" {
		t.Error("the sandbox wrote Lazaret's settings")
	}
	h.Write("lazaret.toml", "[profiles.shell]\nvolumes = [\"/etc:/mnt\"]\n")
	if r := h.Sh("cat lazaret.toml; ls /mnt/passwd"); r.Code == 0 {
		t.Errorf("settings of the workspace widen: %v", r)
	}
	c.silent("opening a repository that wants commands run")
}

// TestF02F03F11Accepting accepts from a workspace and from Domain storage that have
// become hostile.
func TestF02F03F11Accepting(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	h.Write(".gitignore", "out/\n")
	outside := filepath.Join(h.Dir, "outside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(outside, "deep"), 0o755))
	h.Write("dir/file", "x\n")
	h.Write("../outside/precious", "precious\n")
	h.Must(`echo evil > dir/.envrc; mkdir -p dir/deep/er out/ok; echo evil > dir/deep/er/.mcp.json; echo evil > leaf.code-workspace; echo fine > .exrc
echo plain > out/ok/file; chmod 4755 out/ok/file; ln -s /etc/passwd out/absolute; ln -s ../../outside/precious out/climbs; ln -s ok/file out/stays
mkfifo out/fifo; ln out/ok/file out/second; mkdir out/.git; echo x > out/.git/config; echo 'ref: refs/heads/x' > out/HEAD; mkdir out/objects out/refs`)
	h.AwaitStopped()
	must(os.Rename(filepath.Join(h.Workspace, "dir"), filepath.Join(h.Workspace, "moved")))
	must(os.Symlink(outside, filepath.Join(h.Workspace, "dir")))
	must(os.Symlink("../outside/precious", filepath.Join(h.Workspace, "leaf.code-workspace")))
	before := listing(t, outside)
	for _, path := range []string{"dir/.envrc", "dir/deep/er/.mcp.json", "leaf.code-workspace", "../outside/precious", filepath.Join(outside, "precious"), "out"} {
		if r := h.Lazaret("state", "accept", "--yes", path); r.Code == 0 {
			t.Errorf("accepted %s: %v", path, r)
		}
	}
	h.Lazaret("state", "accept", "--yes", "--replace", "leaf.code-workspace")
	if after := listing(t, outside); after != before || h.Read("../outside/precious") != "precious\n" {
		t.Errorf("outside was\n%s\nand is\n%s", before, after)
	}
	if r := h.Lazaret("state", "accept", "--yes", ".exrc"); r.Code != 0 || h.Read(".exrc") != "fine\n" {
		t.Errorf("the twin: %v", r)
	}
	if left := listing(t, h.Workspace); strings.Contains(left, ".lazaret-accept") {
		t.Errorf("left behind:\n%s", left)
	}
	h.Must("rm -rf out; mkdir -p out/ok; echo plain > out/ok/file; chmod 4755 out/ok/file; ln -s ok/file out/stays; mkfifo out/fifo")
	h.AwaitStopped()
	h.Lazaret("state", "accept", "--yes", "out")
	info, err := os.Lstat(filepath.Join(h.Workspace, "out/ok/file"))
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("the twin of a directory: %v, %v", info, err)
	}
	if info, err := os.Lstat(filepath.Join(h.Workspace, "out/fifo")); err == nil {
		t.Errorf("a special file was taken: %v", info)
	}
}

// TestF04DirectorySwappedForALink has one side turn a directory into a link all the
// time while the other works in it.
func TestF04DirectorySwappedForALink(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	outside := filepath.Join(h.Dir, "outside")
	h.Write("../outside/victim", "victim\n")
	h.Write("d/victim", "inside\n")
	before := listing(t, outside)
	c := h.Open("run", "--", "bash", "-c", `echo up; for i in $(seq 8); do
  { echo x > d/victim; cat d/victim; mv d/victim d/v2; mv d/v2 d/victim; chmod 600 d/victim; mkdir d/m$i; ls d; rm -rf d/m$i; ln d/victim d/l$i; rm d/l$i; } >/tmp/seen 2>&1
  grep -q '^victim$' <(cat d/victim 2>/dev/null) && echo escaped
done; echo over; exec cat`)
	c.Shows("up")
	d, link := filepath.Join(h.Workspace, "d"), filepath.Join(h.Workspace, "l")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c.Running() {
			// There is always one of the two under the name.
			if err := exchange(d, link); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	c.Shows("over")
	if r := c.End(); strings.Contains(r.Stdout, "escaped") {
		t.Errorf("read outside: %v", r)
	}
	<-done
	if after := listing(t, outside); after != before || h.Read("../outside/victim") != "victim\n" {
		t.Errorf("outside was\n%s\nand is\n%s", before, after)
	}
}

// TestF06F07F08LinksBetweenStarts puts links on the way to what Lazaret mounts and
// stores, between two starts.
func TestF06F07F08LinksBetweenStarts(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	outside := filepath.Join(h.Dir, "outside")
	h.Write("../outside/file", "x\n")
	h.Write("pkg/file", "x\n")
	linked := filepath.Join(h.Dir, "data")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(h.Data, linked))
	h.WriteConfig(strings.ReplaceAll(readFile(t, h.ConfigFile()), `"`+h.Data+`"`, `"`+linked+`"`))
	h.Must("mkdir -p pkg/node_modules/a node_modules/b; echo x > pkg/node_modules/a/b")
	h.AwaitStopped()
	before := listing(t, outside)
	must(os.Rename(filepath.Join(h.Workspace, "pkg"), filepath.Join(h.Workspace, "moved")))
	must(os.Symlink(outside, filepath.Join(h.Workspace, "pkg")))
	must(os.Symlink(outside, filepath.Join(h.Workspace, "node_modules")))
	if got := h.Must("ls node_modules; ls pkg/node_modules 2>&1; mkdir -p moved/node_modules/c; readlink pkg"); !strings.Contains(got, "b\n") || !strings.Contains(got, outside) {
		t.Errorf("F06: inside: %q", got)
	}
	h.AwaitStopped()
	if after := listing(t, outside); after != before {
		t.Errorf("F06: outside was\n%s\nand is\n%s", before, after)
	}
	store := filepath.Join(h.DomainRoot("shell"), "workspace")
	must(os.Rename(filepath.Join(store, "held"), filepath.Join(store, "held.away")))
	must(os.Symlink(outside, filepath.Join(store, "held")))
	if r := h.Sh("mkdir -p node_modules/evil"); r.Code == 0 || !strings.Contains(r.Stderr, "held") {
		t.Errorf("F08: %v", r)
	}
	h.AwaitStopped()
	if after := listing(t, outside); after != before {
		t.Errorf("F08: outside was\n%s\nand is\n%s", before, after)
	}
	must(os.Remove(filepath.Join(store, "held")))
	must(os.Rename(filepath.Join(store, "held.away"), filepath.Join(store, "held")))
	h.Must("ls node_modules/b")
}

// TestF10EndlessRuleFiles gives ignore files that no end is in sight of.
func TestF10EndlessRuleFiles(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	if err := syscall.Mkfifo(filepath.Join(h.Workspace, ".gitignore"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Must("echo a > a")
	h.AwaitStopped()
	if err := os.Remove(filepath.Join(h.Workspace, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	h.Must(`mkdir big slow null; truncate -s 10G big/.gitignore; yes '*a*a*a*a*a*a*a*a*a*b' | head -c 500000 > slow/.gitignore
ln -s /dev/zero null/.gitignore; for d in big slow null; do for i in 1 2 3; do echo x > $d/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$i; done; done
truncate -s 10G .git/index.lock; perl -e 'rename(".git/index.lock", ".git/index") and exit 1'; rm .git/index.lock; echo b > b`)
	h.AwaitStopped()
	if h.Read("a") != "a\n" || h.Read("b") != "b\n" {
		t.Error("ordinary files are not shared any more")
	}
	if got := h.Must("cat a b; cat slow/*1"); got != "a\nb\nx\n" {
		t.Errorf("at the next start: %q", got)
	}
}

// TestF14NamesAndOwners has a file with two names, and looks at owners on both sides.
func TestF14NamesAndOwners(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	got := h.Must("echo one > a; ln a b; exec 3>>a; rm a; echo two >> b; echo three >&3; cat b; test ! -e a; stat -c %u:%g:%h b file; exec 4>gone; rm gone; echo x >&4; echo x > s; chmod 6755 s; true")
	if got != "one\ntwo\nthree\n0:0:1\n0:0:1\n" {
		t.Errorf("inside: %q", got)
	}
	if h.Read("b") != "one\ntwo\nthree\n" || h.Read("a") != "" || h.Read("gone") != "" {
		t.Errorf("on the host: %q", h.Read("b"))
	}
	for _, name := range []string{"b", "s"} {
		path := filepath.Join(h.Workspace, name)
		if owner(t, path) != os.Getuid() {
			t.Errorf("%s belongs to %d on the host", name, owner(t, path))
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s on the host: %v, %v", name, info, err)
		}
	}
	attribute := func(name string) string {
		return `perl -e 'my ($p, $n, $v) = ("s", "` + name + `", pack("VVVVV", 0x02000001, 32, 0, 0, 0)); exit(syscall(188, $p, $n, $v, 20, 0) == 0 ? 0 : 1)'`
	}
	attempt(t, h, []attack{
		{"capabilities", attribute("security.capability"), attribute("user.capability")},
		{"access lists", attribute("system.posix_acl_access"), attribute("user.acl")},
		{"device", "mknod d c 1 3", "mknod p p"},
	})
	if left := listing(t, h.Workspace); strings.Contains(left, " D") || strings.Contains(left, " p") || strings.Contains(left, " S") {
		t.Errorf("special files on the host:\n%s", left)
	}
}

// TestT04NamesOnEveryList gives files names that repaint a terminal.
func TestT04NamesOnEveryList(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	repository(t, h)
	h.Write(".gitignore", "*.ignored\n")
	script := `use utf8; binmode STDOUT; chdir "/workspace";
my @names = ("\e[2J\e[1;31mred", "a\nb", "x\rACCEPTED", "\e]52;c;aWQ=\a", "\x{202e}gpj.exe", "zero\x{200b}width", "line\x{2028}end", "tag\x{e0041}", "\x9b31m", "\xff\xfe", "\x7f", ("\xff" x 250));
for my $n (@names) {
  utf8::encode($n) if utf8::is_utf8($n);
  for my $f ($n, "$n.code-workspace", ".env.$n", "$n.ignored") { next if length $f > 255; open(my $h, ">", $f) or die "$!"; print $h "x"; close $h }
  mkdir "$n.d"; mkdir "$n.d/.git" }`
	if r := h.Run("perl", "-e", script); r.Code != 0 {
		t.Fatalf("%v", r)
	}
	h.AwaitStopped() // the journal is whole then
	for _, args := range [][]string{{"changes"}, {"changes", "--json"}, {"changes", "--all"}, {"held"}, {"held", "--ignored"}, {"held", "--json"}} {
		r := h.Lazaret(append([]string{"state"}, args...)...)
		if r.Code != 0 || !strings.Contains(r.Stdout, "red") || !strings.Contains(r.Stdout, "line") {
			t.Errorf("%q: %v", args, r)
		}
		if args[len(args)-1] == "--json" && !json.Valid([]byte(r.Stdout)) {
			t.Errorf("%q is no JSON: %q", args, r.Stdout)
		}
		for _, c := range r.Stdout + r.Stderr {
			if c != '\n' && !unicode.IsPrint(c) {
				t.Errorf("%q shows %q", args, c)
				break
			}
		}
	}
	r := h.Lazaret("state", "accept", "--yes", "\x1b[2J\x1b[1;31mred.code-workspace")
	if r.Code != 0 || strings.Contains(r.Stdout+r.Stderr, "\x1b") || h.Read("\x1b[2J\x1b[1;31mred.code-workspace") != "x" {
		t.Errorf("accepting: %v", r)
	}
}
