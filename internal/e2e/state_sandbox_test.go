//go:build sandbox

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// TestInstalledPackageSurvivesARestart installs a package as a developer would, ends
// the sandbox, and finds it again; what is not persistent is gone.
func TestInstalledPackageSurvivesARestart(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	first := h.Sh("(apt-get -qq update && apt-get -qq install -y --no-install-recommends hello) && hello && touch /tmp/gone /srv/gone && echo kept > /root/kept")
	if first.Code != 0 || !strings.Contains(first.Stdout, "Hello, world!") {
		t.Fatalf("install: %v", first)
	}
	h.AwaitStopped()
	again := h.Sh("hello; cat /root/kept; dpkg -s hello | grep Status; ls /tmp/gone /srv/gone")
	for _, want := range []string{"Hello, world!\n", "kept\n", "install ok installed"} {
		if !strings.Contains(again.Stdout, want) {
			t.Errorf("no %q after the restart: %v", want, again)
		}
	}
	if strings.Contains(again.Stdout, "gone") {
		t.Errorf("what is not persistent was kept: %v", again)
	}
}

// TestStateIsTheDomainsOwn keeps the tools of one workspace from another.
func TestStateIsTheDomainsOwn(t *testing.T) {
	t.Parallel()
	one, other := e2e.NewHome(t), e2e.NewHome(t)
	one.Must("echo mine > /etc/mine; rm /etc/motd 2>/dev/null; mv /usr/bin/which /usr/bin/moved 2>/dev/null; true")
	if r := other.Sh("cat /etc/mine"); r.Code == 0 {
		t.Errorf("the other Domain has it: %v", r)
	}
	if got := one.Must("cat /etc/mine"); got != "mine\n" {
		t.Errorf("its own Domain has %q", got)
	}
}

// TestWorkspaceBothWays edits on either side and commits inside.
func TestWorkspaceBothWays(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Write("../home/.gitconfig", "[user]\n\tname = Dev\n\temail = dev@example.org\n")
	h.Git("init", "-q")
	c := h.Open("run", "--", "bash", "-c", "echo up; while read -r line; do eval \"$line\"; done")
	c.Shows("up")
	h.Write("a", "from the host\n")
	c.Type("cat a\n")
	c.Shows("from the host")
	h.Write("a", "changed on the host\n")
	c.Type("cat a\n")
	c.Shows("changed on the host")
	c.Type("echo inside > b; mkdir d; mv b d/c; chmod 640 d/c; echo do''ne\n")
	c.Shows("done")
	if h.Read("d/c") != "inside\n" {
		t.Errorf("outside: %q", h.Read("d/c"))
	}
	info, err := os.Stat(filepath.Join(h.Workspace, "d/c"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("outside: %v, %v", info, err)
	}
	if sys := owner(t, filepath.Join(h.Workspace, "d/c")); sys != os.Getuid() {
		t.Errorf("a file guest root made belongs to %d outside", sys)
	}
	c.Type("git add a d && git commit -q -m 'made inside' && echo com''mitted\n")
	c.Shows("committed")
	if log := h.Git("log", "--format=%s by %an", "--stat"); !strings.Contains(log, "made inside by Dev") || !strings.Contains(log, "d/c") {
		t.Errorf("outside: %s", log)
	}
	h.Git("commit", "-q", "--allow-empty", "-m", "made outside")
	c.Type("git log -1 --format=%s; git status --short; echo sta''tus\n")
	c.Shows("made outside\nstatus")
	if r := c.End(); r.Code != 0 {
		t.Errorf("%v", r)
	}
}

// TestInstallStepRunsOnce uses the profile's own install text for a stub.
func TestInstallStepRunsOnce(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	profile := func(text string) {
		h.Configure(fmt.Sprintf("[profiles.tool]\nimage = %q\ncommand = [\"tool\"]\ninstall = %q\n", source(t), text))
	}
	good := "echo installing; echo run >> /opt/runs; printf '#!/bin/sh\\necho the tool' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool"
	profile("echo half >> /opt/runs; echo sorry >&2; exit 4")
	if r := h.Lazaret("run", "tool"); r.Code != 125 || !strings.Contains(r.Stderr, "install step of profile \"tool\"") || !strings.Contains(r.Stderr, "install.log") {
		t.Errorf("a failing step: %v", r)
	}
	h.AwaitStopped()
	profile(good)
	r := h.Lazaret("run", "tool")
	if r.Code != 0 || r.Stdout != "the tool\n" || !strings.Contains(r.Stderr, "installing") {
		t.Errorf("first start: %v", r)
	}
	h.AwaitStopped()
	if r := h.Lazaret("run", "tool"); r.Code != 0 || r.Stdout != "the tool\n" || strings.Contains(r.Stderr, "installing") {
		t.Errorf("second start: %v", r)
	}
	if r := h.Lazaret("run", "tool", "--", "cat", "/opt/runs"); r.Stdout != "half\nrun\n" {
		t.Errorf("the step ran: %v", r)
	}
}

// TestOneLoginServesAllDomains logs in once; the agent then replaces its login by
// rename, as they do when they refresh it, and every other Domain of the profile gets
// the newest one.
func TestOneLoginServesAllDomains(t *testing.T) {
	t.Parallel()
	one := e2e.NewHome(t)
	profile := "p" + strings.ToLower(filepath.Base(one.Dir)) // the login is the profile's, in a shared Storage Root
	other := one.Elsewhere()
	const file = "/root/.agent/login.json"
	one.Configure(fmt.Sprintf("[profiles.%s]\nimage = %q\ncommand = [\"bash\"]\ncredential = %q\n", profile, source(t), file))
	t.Cleanup(func() { os.RemoveAll(filepath.Join(one.Data, profile)) })
	in := func(h *e2e.Home, script string) string {
		t.Helper()
		r := h.Lazaret("run", profile, "--", "sh", "-ec", script)
		if r.Code != 0 {
			t.Fatalf("%q: %v", script, r)
		}
		h.AwaitStopped()
		return r.Stdout
	}
	rotate := func(token string) string {
		return "mkdir -p /root/.agent; umask 077; echo '{\"token\":\"" + token + "\"}' > " + file + ".new; mv " + file + ".new " + file
	}
	in(one, "test ! -e "+file+"; "+rotate("first"))
	if got := in(other, "cat "+file+"; stat -c %a "+file); got != "{\"token\":\"first\"}\n600\n" {
		t.Errorf("the other Domain has %q", got)
	}
	in(other, rotate("second"))
	if got := in(one, "cat "+file); got != "{\"token\":\"second\"}\n" {
		t.Errorf("after the other's refresh the first has %q", got)
	}
	in(one, rotate("third"))
	if got := in(other, "cat "+file); got != "{\"token\":\"third\"}\n" {
		t.Errorf("after another refresh the other has %q", got)
	}
	// What is no plausible login is not carried: a link, or far too much.
	in(other, "rm "+file+"; ln -s /etc/shadow "+file)
	if got := in(one, "cat "+file); got != "{\"token\":\"third\"}\n" {
		t.Errorf("after a link in the other the first has %q", got)
	}
	saved := filepath.Join(one.Data, profile, "credential")
	if info, err := os.Stat(saved); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the profile's copy: %v, %v", info, err)
	}
}
