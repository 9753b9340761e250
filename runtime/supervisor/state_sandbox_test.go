//go:build sandbox

package supervisor_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/supervisor"
)

func TestStateAnchorSurvivesTheGeneration(t *testing.T) {
	spec := newSpec(t)
	spec.Layer = []runtime.GuestFile{
		{Path: "/root/.lazaret-layer", Mode: 0o644, Data: []byte("v1")},
		{Path: "/etc/profile.d/lazaret.sh", Mode: 0o644, Data: []byte("# lazaret")},
	}
	s := start(t, spec)
	if got := sh(t, s, "echo kept > /root/kept; echo lost > /opt/lost; cat /root/.lazaret-layer; rm /root/.bashrc; stat -c %a /root"); got.code != 0 || got.stdout != "v1700\n" {
		t.Fatalf("first generation: %+v", got)
	}
	stop(t, s)
	if err := sh2(t, s); err == nil {
		t.Error("a stopped sandbox took a command")
	}

	spec.Generation, spec.Layer[0].Data = domain.NewGeneration(), []byte("v2")
	s = start(t, spec)
	got := sh(t, s, "cat /root/kept /root/.lazaret-layer; ls /opt; ls /root/.bashrc 2>/dev/null; stat -c %a /root")
	if got.stdout != "kept\nv2700\n" {
		t.Errorf("second generation: %+v", got)
	}
	upper, err := os.ReadDir(spec.Anchors[0].Upper)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range upper {
		if strings.Contains(e.Name(), "lazaret") {
			t.Errorf("Lazaret's own file %s became the developer's state", e.Name())
		}
	}
}

func sh2(t *testing.T, s runtime.Sandbox) error {
	t.Helper()
	r, w := pipe(t)
	_, err := s.Exec(t.Context(), runtime.ExecSpec{Session: domain.NewSessionID(), Argv: []string{"true"}, Stdin: r, Stdout: w, Stderr: w})
	return err
}

func TestNestedAnchors(t *testing.T) {
	spec := newSpec(t)
	state := filepath.Dir(filepath.Dir(spec.Anchors[0].Upper))
	for _, p := range []string{"/var/lib/deep", "/var"} {
		home := state + strings.ReplaceAll(p, "/", "-")
		spec.Anchors = append(spec.Anchors, runtime.Anchor{Path: p, Upper: home + "/upper", Work: home + "/work"})
	}
	s := start(t, spec)
	if got := sh(t, s, "echo a > /var/outer; echo b > /var/lib/deep/inner; stat -c '%a %U' /var /var/tmp"); got.stdout != "755 root\n1777 root\n" {
		t.Fatalf("%+v", got)
	}
	for path, want := range map[string]string{"-var/upper/outer": "a\n", "-var-lib-deep/upper/inner": "b\n"} {
		if b, err := os.ReadFile(state + path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
}

func TestWorkspaceIsShared(t *testing.T) {
	spec := newSpec(t)
	if err := os.WriteFile(spec.Workspace+"/host", []byte("from the host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, spec)
	if got := sh(t, s, "cat host; echo from the guest > guest"); got.stdout != "from the host\n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	b, err := os.ReadFile(spec.Workspace + "/guest")
	if err != nil || string(b) != "from the guest\n" {
		t.Errorf("%q, %v", b, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(spec.Workspace+"/guest", &st); err != nil || int(st.Uid) != os.Getuid() {
		t.Errorf("the guest's file belongs to %d, want %d: %v", st.Uid, os.Getuid(), err)
	}
}

func TestTheHostIsOutOfReach(t *testing.T) {
	spec := newSpec(t)
	secret := filepath.Join(filepath.Dir(spec.Workspace), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, spec.Workspace+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(spec.Workspace+"/inside", []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("inside", spec.Workspace+"/good-link"); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", spec.Workspace+"/host.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := unix.Mkfifo(spec.Workspace+"/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	s := start(t, spec)
	for what, script := range map[string]string{
		"a host path":              "cat " + secret,
		"a link out":               "cat link",
		"a path up":                "cat ../secret /workspace/../secret",
		"a host socket":            connect("host.sock"),
		"a host FIFO":              "timeout 5 sh -c 'echo x <> fifo'",
		"the host's process":       "kill -0 " + itoa(os.Getpid()),
		"mounting":                 "mount -t tmpfs x /mnt",
		"unmounting the workspace": "umount /workspace",
		"Lazaret's own binary":     "echo x > /run/lazaret/bin/lazaret-escalate",
		"the results":              "echo x > /run/lazaret/results/x",
		"the secrets":              "echo x > /run/lazaret/credential/x",
		"the resolver":             "echo x > /etc/resolv.conf",
	} {
		if got := sh(t, s, script); got.code == 0 {
			t.Errorf("%s: the guest succeeded with %q: %+v", what, script, got)
		}
	}
	for what, script := range map[string]string{
		"a link inside":   "test \"$(cat good-link)\" = inside",
		"a guest socket":  `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen(); c=socket.socket(socket.AF_UNIX); c.connect('/tmp/s')"`,
		"a guest FIFO":    "mkfifo /tmp/f && timeout 5 sh -c 'echo x <> /tmp/f'",
		"the mailbox":     "echo x > /run/lazaret/requests/x",
		"a secret's text": "test \"$(cat /run/lazaret/credential/sandbox.key)\" = secret",
		"its own process": "kill -0 $$",
		"the client":      "command -v lazaret-escalate",
	} {
		if got := sh(t, s, script); got.code != 0 {
			t.Errorf("%s: refused: %+v", what, got)
		}
	}
	requests, _ := s.Mailbox()
	if names, err := requests.Readdirnames(-1); err != nil || len(names) != 1 || names[0] != "x" {
		t.Errorf("mailbox: %q, %v", names, err)
	}
}

func connect(path string) string {
	return `python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('` + path + `')"`
}

func TestMailboxIsSharedBothWays(t *testing.T) {
	s := start(t, newSpec(t))
	_, results := s.Mailbox()
	fd, err := unix.Openat(int(results.Fd()), "answer", unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "answer")
	_, _ = f.WriteString("from the host\n")
	f.Close()
	if got := sh(t, s, "cat /run/lazaret/results/answer"); got.stdout != "from the host\n" {
		t.Errorf("%+v", got)
	}
	got := sh(t, s, "cd /run/lazaret/requests; head -c 9000000 /dev/zero > big; i=0; while [ $i -lt 2000 ]; do : > f$i || exit 3; i=$((i+1)); done")
	if got.code == 0 {
		t.Error("the mailbox has no bound")
	}
}

func TestVolumes(t *testing.T) {
	spec := newSpec(t)
	base := filepath.Dir(spec.Workspace)
	for _, d := range []string{"/rw", "/ro"} {
		if err := os.Mkdir(base+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(base+"/file", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec.Volumes = []runtime.Volume{
		{Host: base + "/rw", Guest: "/root/cache/deep"},
		{Host: base + "/ro", Guest: "/srv/ro", ReadOnly: true},
		{Host: base + "/file", Guest: "/etc/tool.conf", ReadOnly: true},
	}
	s := start(t, spec)
	if got := sh(t, s, "echo x > /root/cache/deep/x && cat /etc/tool.conf && ! touch /srv/ro/x 2>/dev/null && ! echo x 2>/dev/null > /etc/tool.conf"); got.code != 0 || got.stdout != "text" {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(base + "/rw/x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(spec.Anchors[0].Upper + "/cache"); err == nil {
		t.Error("a mount point became the developer's state")
	}
}

func TestLaunchRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*runtime.Spec)
		kind  fault.Kind
		says  string
	}{
		"no lower":                 {func(s *runtime.Spec) { s.Lower += "/none" }, fault.Host, "none"},
		"no workspace":             {func(s *runtime.Spec) { s.Workspace += "/none" }, fault.Host, "none"},
		"no runsc":                 {func(s *runtime.Spec) { s.Runsc += "-none" }, fault.Host, "runsc-none"},
		"an anchor that is a link": {func(s *runtime.Spec) { s.Anchors[0].Path = "/bin" }, fault.Config, "/usr/bin"},
		"a volume nowhere in the workspace": {func(s *runtime.Spec) {
			s.Volumes = []runtime.Volume{{Host: s.Lower, Guest: "/workspace/missing", ReadOnly: true}}
		}, fault.Config, "missing"},
		"a secret elsewhere":   {func(s *runtime.Spec) { s.Secrets[0].Path = "/etc/shadow" }, fault.Sandbox, "/etc/shadow"},
		"a runsc that is none": {func(s *runtime.Spec) { s.Runsc = s.GuestBinary }, fault.Sandbox, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := newSpec(t)
			c.spoil(&spec)
			before := descendants(os.Getpid())
			_, err := supervisor.NewLauncher().Launch(t.Context(), spec, nil)
			if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error()+fault.FixOf(err), c.says) {
				t.Errorf("got %v (kind %d)", err, fault.KindOf(err))
			}
			if after := descendants(os.Getpid()); len(after) > len(before) {
				t.Errorf("processes are left: %v", after)
			}
			if _, err := os.Lstat(spec.Workspace + "/missing"); err == nil {
				t.Error("a mount point was made in the workspace")
			}
		})
	}
}
