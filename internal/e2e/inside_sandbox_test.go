//go:build sandbox

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/e2e"
)

// golden compares got with a file of testdata. The sandbox suites run in a private
// copy of it, so they cannot rewrite it; the failure prints what was found.
func golden(t *testing.T, name, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("%v; found:\n%s", err, got)
	}
	if got != string(want) {
		t.Errorf("%s differs; found:\n%s", name, got)
	}
}

const canary = "canary-3f9c81"

// TestEnvironmentInside is SR-3: of the host's environment nothing but what the
// profile names reaches any process inside.
func TestEnvironmentInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.ConfigureShell(`env = { CHOSEN = "given", FORWARDED = "env:FORWARD_ME" }`, "")
	h.Env = append(h.Env, "SECRET_TOKEN="+canary, "AWS_SECRET_ACCESS_KEY="+canary, "SSH_AUTH_SOCK=/tmp/"+canary,
		"LD_PRELOAD_X="+canary, "FORWARD_ME=forwarded", "LANG=de_DE.UTF-8")
	h.Hold()
	var names []string
	for line := range strings.Lines(h.Must("env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "LAZARET_SESSION", "LAZARET_CAPABILITY":
			value = "…"
		}
		names = append(names, name+"="+value)
	}
	slices.Sort(names)
	golden(t, "environment.txt", strings.Join(names, "\n")+"\n")
	// Every process inside, PID 1 first: what it was started with and by.
	all := h.Must(`for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ; tr '\0' ' ' < $p/cmdline; done; cat /proc/1/environ | tr '\0' '\n'`)
	if strings.Contains(all, canary) || strings.Contains(all, h.Dir) {
		t.Errorf("of the host's environment reached the sandbox:\n%s", all)
	}
	if !strings.Contains(all, "FORWARDED=forwarded") { // the twin: the search finds what is there
		t.Errorf("the variable that was named did not:\n%s", all)
	}
}

var mountLine = regexp.MustCompile(`^\S+ on (\S+) type (\S+) \(([^)]*)\)$`)

// TestMountsInside is SR-3 and SR-12: the mounts of a sandbox, by place, type and
// what matters of their options.
func TestMountsInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Write(".git/config", "[core]\n")
	h.Write(".git/hooks/sample", "")
	if err := os.Mkdir(filepath.Join(h.Dir, "vol"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.ConfigureShell(`volumes = [{ host = "`+h.Dir+`/vol", container = "/data", mode = "ro" }]`, "")
	h.Hold()
	var list []string
	for line := range strings.Lines(h.Must("mount")) {
		m := mountLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("mount says %q", line)
		}
		var options []string
		for o := range strings.SplitSeq(m[3], ",") {
			if slices.Contains([]string{"ro", "rw", "nosuid", "nodev", "noexec", "disable_fifo_open"}, o) {
				options = append(options, o)
			}
		}
		list = append(list, m[1]+" "+m[2]+" "+strings.Join(options, ","))
	}
	slices.Sort(list)
	golden(t, "mounts.txt", strings.Join(list, "\n")+"\n")
	if r := h.Sh("touch /data/x"); r.Code == 0 {
		t.Errorf("a read-only volume was written: %v", r)
	}
}

// TestNamespacesInside is SR-12 from inside: own names, own processes, no new
// privileges, no device of the host.
func TestNamespacesInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	out := h.Must("hostname; grep NoNewPrivs /proc/self/status; ls /dev; ps -e -o comm=; cat /proc/1/comm; id -u")
	for _, want := range []string{"lazaret-shell\n", "NoNewPrivs:\t1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	for _, never := range []string{"\nkvm", "\nsda", "\nvda", "\nmem\n", "systemd", "lazaret-hc"} {
		if strings.Contains(out, never) {
			t.Errorf("%q in:\n%s", never, out)
		}
	}
	for _, refused := range []string{"mknod /root/m b 8 0 && head -c1 /root/m", "mount -t tmpfs x /mnt && touch /etc/lazaret-hostile", "chroot / mknod /tmp/k c 1 1 && head -c1 /tmp/k"} {
		if r := h.Sh("(" + refused + ") && ls -la /proc/1/root/../../home/" + "; false"); r.Code == 0 {
			t.Errorf("%q: %v", refused, r)
		}
	}
}

// TestHostFilesAreOutOfReach tries the ways out of the workspace.
func TestHostFilesAreOutOfReach(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	secret := filepath.Join(h.Dir, "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	h.Write("twin", canary)
	for name, target := range map[string]string{"absolute": secret, "relative": "../secret", "twinlink": "twin", "dir": ".."} {
		if err := os.Symlink(target, filepath.Join(h.Workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.Hold()
	if got := h.Must("cat twinlink"); got != canary { // the twin: links inside work
		t.Errorf("a link within the workspace reads %q", got)
	}
	for _, try := range []string{
		"cat " + secret, "cat absolute", "cat relative", "cat dir/secret", "cat ../secret",
		"cat /proc/1/root" + secret, "cat /proc/self/cwd/../secret",
		"mkdir -p deep/er && cd deep/er && cat ../../../secret",
		"ln -s " + secret + " made && cat made", "ln absolute hard && cat hard",
		"cd dir && cat secret", "ls " + h.Dir,
	} {
		if r := h.Sh(try); r.Code == 0 || strings.Contains(r.Stdout, canary) {
			t.Errorf("%q: %v", try, r)
		}
	}
	// A write through a link inside lands inside, and the host's file stays.
	h.Sh("echo overwritten > absolute; rm -rf dir/; echo x > dir/secret")
	if b, _ := os.ReadFile(secret); string(b) != canary {
		t.Errorf("the host's file is now %q", b)
	}
}

// TestHostSocketsAndFifosAreRefused is N14: an agent's socket or a FIFO that lies in
// the workspace opens no way to the host.
func TestHostSocketsAndFifosAreRefused(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	fifo := filepath.Join(h.Workspace, "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	hold, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	listener := listenUnix(t, filepath.Join(h.Workspace, "agent.sock"))
	h.Write("connect.py", `import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"hello")
`)
	h.Hold()
	for _, try := range []string{"timeout 5 python3 connect.py agent.sock", "timeout 5 sh -c 'echo x > fifo'", "timeout 5 head -c1 fifo"} {
		if r := h.Sh(try); r.Code == 0 || r.Code == 124 {
			t.Errorf("%q: %v", try, r)
		}
	}
	if got := listener(); got != "" {
		t.Errorf("the host's socket got %q", got)
	}
	// The twins: the guest's own socket and FIFO work, within the guest.
	h.Must(`mkfifo /tmp/f; (cat /tmp/f > /tmp/out &) ; echo through > /tmp/f; sleep 0.3; grep through /tmp/out
python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind("/tmp/own"); s.listen(); input()' < /dev/zero &
for i in 1 2 3 4 5 6 7 8 9; do test -S /tmp/own && break; sleep 0.2; done; python3 connect.py /tmp/own`)
}

// TestGitConfigAndHooks: an agent cannot write what host Git executes, and can commit.
func TestGitConfigAndHooks(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Git("init", "-q")
	h.Hold()
	for _, refused := range []string{"echo x >> .git/config", "git config core.fsmonitor 'sh -c id'", "rm .git/config", "mv .git .gone",
		"printf '#!/bin/sh\ntouch /tmp/hooked' > .git/hooks/pre-commit", "mv .git/hooks .git/gone"} {
		if r := h.Sh(refused); r.Code == 0 {
			t.Errorf("%q: %v", refused, r)
		}
	}
	if _, err := os.Lstat(filepath.Join(h.Workspace, ".git/hooks/pre-commit")); err == nil {
		t.Error("a hook written inside is there outside")
	}
	h.Must("echo a > a; git add a; git -c user.name=a -c user.email=a@b commit -q -m first")
	if log := h.Git("log", "--format=%s"); !strings.Contains(log, "first") {
		t.Errorf("the host's log: %q", log)
	}
	if strings.Contains(h.Read(".git/config"), "fsmonitor") {
		t.Error("the configuration was written")
	}
}
