package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

const baseForNarrowing = `
[network]
default_allow = ["10.1.0.0/16"]
[escalation]
auto_approve = ["adb devices", { argv = ["notify-send"], extra_args = true }]
[profiles.work]
allow_egress = ["192.168.7.0/24"]
deny_egress = ["203.0.113.0/24"]
limits.processes = 100
limits.memory = "1GiB"
registry.insecure = true
[profiles.closed]
network = false
escalation = false
sandbox.directfs = false
[profiles.open.workspace]
ignored = "shared"
[profiles.apart.git]
mode = "worktree"
`

// narrowing pairs each refused line of a workspace file with one that only takes
// away, which must be accepted.
var narrowing = []struct{ name, refused, why, accepted string }{
	{"allow", `network.default_allow = ["10.1.0.0/16", "10.2.0.0/16"]`, `"10.2.0.0/16" is new`, `network.default_allow = []`},
	{"allow a part", `network.default_allow = ["10.1.2.0/24"]`, "is new", `network.default_allow = ["10.1.0.0/16"]`},
	{"deny", `network.default_deny = ["10.0.0.0/8"]`, "is gone", `network.default_deny = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "198.51.100.0/24"]`},
	{"profile allow", `profiles.work.allow_egress = ["192.168.8.0/24"]`, "is new", `profiles.work.allow_egress = []`},
	{"profile deny", `profiles.work.deny_egress = []`, "is gone", `profiles.work.deny_egress = ["203.0.113.0/24", "8.8.8.8/32"]`},
	{"network", `profiles.closed.network = true`, "only be turned off", `profiles.work.network = false`},
	{"escalation", `profiles.closed.escalation = true`, "only be turned off", `profiles.work.escalation = false`},
	{"escalation of all", `profiles.closed.escalation = true`, "only be turned off", `escalation.enabled = false`},
	{"directfs", `profiles.closed.sandbox.directfs = true`, "only be turned off", `profiles.work.sandbox.directfs = false`},
	{"ignored", `profiles.work.workspace.ignored = "shared"`, `only be "domain"`, `profiles.open.workspace.ignored = "domain"`},
	{"git mode", `profiles.apart.git.mode = "shared"`, `only be "worktree"`, `profiles.work.git.mode = "worktree"`},
	{"masks", `profiles.work.workspace.masks = [".vscode"]`, "is gone", `profiles.work.workspace.masks = [".vscode", ".idea", ".fleet", ".zed", ".vs", ".mine"]`},
	{"insecure", `profiles.closed.registry.insecure = true`, "only be turned off", `profiles.work.registry.insecure = false`},
	{"expire", `escalation.expire = "11m"`, "only be shorter than 10m", `escalation.expire = "1m"`},
	{"rules", `escalation.auto_approve = ["adb shell"]`, "is new", `escalation.auto_approve = ["adb devices"]`},
	{"rules made longer", `escalation.auto_approve = [{ argv = ["adb", "devices"], extra_args = true }]`, "is new", `escalation.auto_approve = []`},
	{"limit", `profiles.work.limits.processes = 101`, "only lower", `profiles.work.limits.processes = 99`},
	{"limit removed", `profiles.work.limits.memory = 0`, "only lower the limit of 1073741824", `profiles.work.limits.memory = "512MiB"`},
	{"limit set", `profiles.work.limits.processes = 0`, "only lower", `profiles.closed.limits.tmp = "1GiB"`},
}

func TestUntrustedWorkspaceFileMayOnlyNarrow(t *testing.T) {
	t.Parallel()
	for _, tc := range narrowing {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).user(baseForNarrowing).workspace(tc.refused + "\n")
			_, err := w.load()
			wantRefused(t, err, fault.Config, w.wsFile()+":1", tc.why, "lazaret config trust")
			before := newWorld(t).user(baseForNarrowing).mustLoad()
			after := newWorld(t).user(baseForNarrowing).workspace(tc.accepted + "\n").mustLoad()
			if fmt.Sprint(before.Network, before.Escalation, before.Profiles["work"], before.Profiles["closed"], before.Profiles["open"]) ==
				fmt.Sprint(after.Network, after.Escalation, after.Profiles["work"], after.Profiles["closed"], after.Profiles["open"]) && tc.name != "allow a part" {
				t.Error("the accepted line changed nothing")
			}
		})
	}
}

// Every key without an order is refused, whatever its value.
func TestKeysWithoutAnOrder(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`default_profile = "claude"`, `storage.data_root = "/srv"`, `escalation.socket_dir = "/srv"`,
		`ui.theme = "light"`, `ui.leader = "ctrl+b"`, `ui.emulator = "vt10x"`, `ui.scrollback_lines = 1`, `keys.quit = "q"`,
		`profiles.work.agent = "codex"`, `profiles.work.image = "builtin"`, `profiles.work.command = ["sh"]`,
		`profiles.work.install = "true"`, `profiles.work.credential = "/root/x"`, `profiles.work.persistent_dirs = []`,
		`profiles.work.env.A = "b"`, `profiles.work.volumes = []`, `profiles.work.user = "root"`, `profiles.work.ca_certificates = "image"`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).user(baseForNarrowing).workspace("\n" + line + "\n")
			_, err := w.load()
			wantRefused(t, err, fault.Config, w.wsFile()+":2", "may not set this", "can write this file")
			w.accept()
			w.mustLoad()
		})
	}
}

func TestWorkspaceFileMayNotAddAProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t).workspace("[profiles.mine]\nnetwork = false\n")
	_, err := w.load()
	wantRefused(t, err, fault.Config, "lazaret.toml:2", `may not define the profile "mine"`)
	w.accept()
	if _, err := w.mustLoad().Profile("mine"); err != nil {
		t.Error(err)
	}
}

// accept trusts the workspace file as it is now.
func (w *world) accept() *config.Review {
	w.t.Helper()
	r, err := config.ReadReview(w.options())
	if err != nil {
		w.t.Fatalf("ReadReview: %v", err)
	}
	if err := r.Accept(); err != nil {
		w.t.Fatalf("Accept: %v", err)
	}
	return r
}

func TestTrustIsBoundToTheExactBytes(t *testing.T) {
	t.Parallel()
	const text = "[profiles.claude]\nimage = \"oci:/srv/img\"\n"
	w := newWorld(t).workspace(text)
	r := w.accept()
	if r.Trusted || len(r.Changes) != 1 || r.Changes[0].Key != "profiles.claude.image" ||
		r.Changes[0].Old != `"builtin"` || r.Changes[0].New != `"oci:/srv/img"` || r.Changes[0].Refused == "" {
		t.Errorf("review = %+v", r)
	}
	c := w.mustLoad()
	if c.Profiles["claude"].Image != "oci:/srv/img" || c.Origins["profiles.claude.image"].Layer != config.LayerWorkspace {
		t.Errorf("trusted file not applied: %+v", c.Profiles["claude"])
	}
	if len(c.Files) != 1 || !c.Files[0].Trusted {
		t.Errorf("files = %+v", c.Files)
	}
	w.workspace(text + " ")
	_, err := w.load()
	wantRefused(t, err, fault.Config, "may not set this")
	w.workspace(text)
	w.mustLoad()
}

// The bytes shown are the bytes accepted: a file swapped in between stays untrusted.
func TestTrustOfAFileThatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t).workspace("profiles.shell.user = \"root\"\n")
	r, err := config.ReadReview(w.options())
	if err != nil {
		t.Fatal(err)
	}
	w.workspace("profiles.shell.volumes = [{host = \"/srv\", container = \"/data\"}]\n")
	if err := r.Accept(); err != nil {
		t.Fatal(err)
	}
	_, err = w.load()
	wantRefused(t, err, fault.Config, "may not set this")
}

func TestTrustIsPerWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t).workspace("ui.theme = \"light\"\n")
	w.accept()
	w.mustLoad()
	w.ws += "-copy"
	w.workspace("ui.theme = \"light\"\n")
	_, err := w.load()
	wantRefused(t, err, fault.Config, "may not set this")
}

func TestTrustRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t).workspace("ui.theme = \"light\"\n")
	w.accept()
	found, err := filepath.Glob(filepath.Join(w.home, ".local/state/lazaret/trust/*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("records = %q, %v", found, err)
	}
	if info, _ := os.Stat(found[0]); info.Mode().Perm() != 0o600 {
		t.Errorf("record has mode %v", info.Mode())
	}
	good, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"others may write": func() error { return os.Chmod(found[0], 0o622) },
		"version":          func() error { return os.WriteFile(found[0], []byte(`{"version":2}`), 0o600) },
		"unknown field":    func() error { return os.WriteFile(found[0], []byte(`{"version":1,"x":1}`), 0o600) },
		"other workspace":  func() error { return os.WriteFile(found[0], []byte(`{"version":1,"workspace":"/x"}`), 0o600) },
		"no JSON":          func() error { return os.WriteFile(found[0], []byte(`x`), 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		_, err := w.load()
		t.Log(name)
		wantRefused(t, err, fault.Config, found[0], "lazaret config trust")
		if err := os.Chmod(found[0], 0o600); err != nil {
			t.Fatal(err)
		}
		w.write(found[0], string(good))
		w.mustLoad()
	}
}

func TestNothingToTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := config.ReadReview(w.options())
	wantRefused(t, err, fault.Config, "no lazaret.toml")
	w.workspace("ui.thme = 1\n")
	_, err = config.ReadReview(w.options())
	wantRefused(t, err, fault.Config, "lazaret.toml:1", "unknown key")
}

// The developer's own --config stands above what the workspace takes away.
func TestFlagStandsAboveTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t).workspace("profiles.shell.network = false\n")
	if w.mustLoad().Profiles["shell"].NetworkEnabled {
		t.Error("the workspace file did not narrow")
	}
	w.flag = w.write(filepath.Join(w.home, "mine.toml"), "profiles.shell.network = true\n")
	if !w.mustLoad().Profiles["shell"].NetworkEnabled {
		t.Error("--config did not override")
	}
}
