//go:build sandbox

package supervisor_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file that says what the guest may see.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s changed; look at it and run with -update. got:\n%s", name, got)
	}
}

func sorted(lines string) string {
	return strings.Join(slices.Sorted(strings.Lines(lines)), "")
}

// What a command finds in its environment, its mounts, its devices, its sockets and
// its descriptors is written down and nothing else.
func TestInventory(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "leaked")
	spec := newSpec(t)
	spec.Env = []string{"LANG=C.UTF-8", "TERM=xterm"}
	s := start(t, spec)
	inventory := []struct{ title, script string }{
		{"mounts", `awk '{print $2, $3, $4}' /proc/mounts | sed 's/,[rw]fdno=[0-9]*//g' | sort`},
		{"devices", "ls -1 /dev"},
		{"lazaret", "cd /run/lazaret && find . -printf '%p %M %u\\n' | sort"},
		{"sockets", "find / -xdev -type s; find /run /tmp /dev -type s"},
		{"descriptors", "ls -1 /proc/self/fd"},
		{"ids", "id; cat /proc/self/uid_map; grep -E 'Cap(Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status"},
		{"network", "cat /etc/resolv.conf /etc/hosts; ip -o addr show | awk '{print $2, $3, $4}'; ip route"},
		{"processes", "ps -e -o args | grep -v -e 'ps -e' -e guest-session -e 'sh -c' -e '^grep'"},
	}
	got := "== environment\n" + sorted(runWith(t, s, runtime.ExecSpec{Argv: []string{"env"}, Env: []string{"X=1"}, Dir: "/"}, "").stdout)
	for _, i := range inventory {
		r := sh(t, s, i.script)
		if r.stderr != "" {
			t.Errorf("%s: %s", i.title, r.stderr)
		}
		got += "== " + i.title + "\n" + r.stdout
	}
	golden(t, "inventory.txt", got)
}

func TestGuestRootCannotChangeTheNetwork(t *testing.T) {
	spec := newSpec(t)
	spec.Network.Deny = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/16")}
	spec.Network.Allow = []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24")}
	s := start(t, spec)
	routes := sh(t, s, "ip route").stdout
	for _, want := range []string{"10.0.0.0/8 dev lo", "192.168.0.0/16 dev lo", "192.168.7.0/24 via 10.0.2.2 dev tap0"} {
		if !strings.Contains(routes, want) {
			t.Errorf("no route %q in\n%s", want, routes)
		}
	}
	for _, script := range []string{
		"ip route del 10.0.0.0/8 dev lo", "ip route add 10.9.0.0/16 via 10.0.2.2", "ip addr add 10.0.2.50/24 dev tap0",
		"ip link set tap0 down", `python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"`,
		`python3 -c "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"`,
	} {
		if got := sh(t, s, script); got.code == 0 {
			t.Errorf("the guest succeeded with %q", script)
		}
	}
	if again := sh(t, s, "ip route").stdout; again != routes {
		t.Errorf("the routes changed:\n%s", again)
	}
	harmless := `import socket; a=socket.socket(); a.bind(("127.0.0.1",0)); a.listen(); socket.create_connection(a.getsockname())`
	if got := sh(t, s, "python3 -c '"+harmless+"'"); got.code != 0 {
		t.Errorf("the guest's own loopback: %+v", got)
	}
}

func TestNetworkOff(t *testing.T) {
	spec := newSpec(t)
	spec.Network = runtime.Network{}
	s := start(t, spec)
	if status := s.Status(); status.NetworkUp || status.NetworkReason == "" {
		t.Errorf("%+v", status)
	}
	if got := sh(t, s, "ip -o link | wc -l; ip route | wc -l"); got.stdout != "1\n1\n" {
		t.Errorf("%+v", got)
	}
}

func TestAnotherUser(t *testing.T) {
	spec := newSpec(t)
	spec.User = runtime.User{UID: 1000, GID: 1000, Home: "/tmp"}
	s := start(t, spec)
	if got := sh(t, s, "id -u; id -g; echo $HOME; grep CapEff /proc/self/status; touch /etc/x 2>/dev/null || echo refused"); got.stdout != "1000\n1000\n/tmp\nCapEff:\t0000000000000000\nrefused\n" {
		t.Errorf("%+v", got)
	}
	got := sh(t, s, "touch /run/lazaret/requests/x && stat -c %u /run/lazaret/requests/x")
	if spec.IDs.Mode == runtime.ModeSingle {
		if got.code == 0 {
			t.Errorf("a host with a single id gave a file to another: %+v", got)
		}
		return
	}
	if got.stdout != "1000\n" {
		t.Errorf("a request of another user: %+v", got)
	}
}

func TestLimits(t *testing.T) {
	spec := newSpec(t)
	spec.Limits = runtime.Limits{Processes: 40, OpenFiles: 200, TmpBytes: 16 << 20}
	s := start(t, spec)
	if got := sh(t, s, "ulimit -n"); got.stdout != "200\n" {
		t.Errorf("open files: %+v", got)
	}
	for _, dir := range []string{"/tmp", "/run", "/dev/shm", "/opt"} {
		if got := sh(t, s, "head -c 20000000 /dev/zero > "+dir+"/big"); got.code == 0 {
			t.Errorf("%s has no bound", dir)
		}
		if got := sh(t, s, "rm -f "+dir+"/big; head -c 1000000 /dev/zero > "+dir+"/small"); got.code != 0 {
			t.Errorf("%s: a small file: %+v", dir, got)
		}
	}
	if got := sh(t, s, "for i in $(seq 60); do sleep 20 & done"); got.code == 0 {
		t.Error("processes have no bound")
	}
	if got := sh(t, s, "for i in 1 2 3 4 5; do true & done; wait"); got.code != 0 {
		t.Errorf("a few processes: %+v", got)
	}
	if list := s.Status().LimitsInForce; len(list) != 3 {
		t.Errorf("limits in force: %q", list)
	}
}
