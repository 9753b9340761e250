//go:build sandbox

package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// fetch reads one line from host:port inside, for at most four seconds.
const fetch = `cat > /tmp/fetch.py <<'X'
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 4)
    print(s.recv(100).decode())
except OSError as e:
    print("refused", e)
X
for a in %s; do echo "$a: $(python3 /tmp/fetch.py $a %s)"; done`

// TestNetworkPolicy puts the whole program into a network namespace of its own as its
// host, with addresses of every kind on the loopback device and a server on each:
// what answers inside is what the policy lets through, not what happens to exist.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Configure("")
	stage := h.Write("../stage.sh", `set -e
ip link set lo up
for a in 203.0.113.5 198.51.100.7 10.1.2.3 172.16.9.9 192.168.7.7 169.254.169.254 172.32.0.1; do ip addr add $a/32 dev lo; done
python3 - <<'X' &
import socket
s = socket.create_server(("0.0.0.0", 8080))
while True:
    c, _ = s.accept()
    c.sendall(b"answer\n")
    c.close()
X
server=$!
trap 'kill $server' EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do (: < /dev/tcp/203.0.113.5/8080) 2>/dev/null && break; read -t 0.2 < /dev/zero || true; done
"$@"
`)
	inside := fmt.Sprintf(fetch, "203.0.113.5 198.51.100.7 172.32.0.1 10.1.2.3 172.16.9.9 192.168.7.7 169.254.169.254 127.0.0.1 10.0.2.2", "8080")
	args := append(ownNetwork(t), "bash", stage, h.Program, "run", "--", "sh", "-c", inside)
	cmd := exec.CommandContext(t.Context(), "unshare", args...)
	cmd.Dir, cmd.Env = h.Workspace, h.Env
	r := h.Finish(cmd)
	for _, reached := range []string{"203.0.113.5", "198.51.100.7", "172.32.0.1"} {
		if !strings.Contains(r.Stdout, reached+": answer") {
			t.Errorf("%s is not reached: %v", reached, r)
		}
	}
	for _, denied := range []string{"10.1.2.3", "172.16.9.9", "192.168.7.7", "169.254.169.254", "127.0.0.1", "10.0.2.2"} {
		if !strings.Contains(r.Stdout, denied+": refused") {
			t.Errorf("%s is not denied: %v", denied, r)
		}
	}
}

// ownNetwork are the arguments that make unshare(1) give a program a network
// namespace it may set up. An ordinary user stays who they are in a user namespace
// of their own, with the subordinate ids they have.
func ownNetwork(t *testing.T) []string {
	t.Helper()
	args := []string{"--net", "--mount"}
	if os.Getuid() == 0 {
		return append(args, "--")
	}
	args = append(args, "--user", "--keep-caps", "--map-current-user")
	for flag, file := range map[string]string{"--map-users=": "/etc/subuid", "--map-groups=": "/etc/subgid"} {
		if first, count, ok := subordinate(t, file); ok {
			args = append(args, flag+first+","+first+","+count)
		}
	}
	return append(args, "--")
}

// subordinate is the current user's range in a file like subuid(5).
func subordinate(t *testing.T, file string) (first, count string, ok bool) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 3 && f[0] == os.Getenv("USER") {
			return f[1], f[2], true
		}
	}
	return "", "", false
}

// TestHostLoopbackIsOutOfReach is N06: no address leads to a server on the host's
// loopback device, nor on the host's own addresses of a private range.
func TestHostLoopbackIsOutOfReach(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	out := h.Must(fmt.Sprintf(fetch, "127.0.0.1 127.0.0.53 0.0.0.0 10.0.2.2 10.0.2.3 localhost", fmt.Sprint(port)))
	if strings.Count(out, ": refused") != 6 {
		t.Errorf("inside:\n%s", out)
	}
	if got := taker(l)(); got != "" {
		t.Errorf("the host's server was reached: %q", got)
	}
}

// TestNetworkInside looks at the network as the guest sees it: the resolver works,
// IPv6 is off, and guest root changes nothing of it.
func TestNetworkInside(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	out := h.Must(`cat /etc/resolv.conf; ip -6 addr show scope global; ip -o -4 addr show; ls /proc/net/if_inet6 2>/dev/null; cat /etc/hosts`)
	if !strings.Contains(out, "nameserver 10.0.2.3") || !strings.Contains(out, "10.0.2.100") || strings.Contains(out, "inet6 f") {
		t.Errorf("inside:\n%s", out)
	}
	for _, refused := range []string{
		"ip route add 10.9.0.0/16 via 10.0.2.2", "ip route del 10.0.0.0/8", "ip route flush table main", "ip link set dev eth0 down", "ip link set dev tap0 down", "ip addr add 10.9.9.9/24 dev tap0",
		"python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
		"python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)'",
		"python3 -c 'import socket; s=socket.socket(socket.AF_INET6); s.settimeout(4); s.connect((\"2001:db8::1\", 80))'",
	} {
		if r := h.Sh(refused); r.Code == 0 {
			t.Errorf("%q: %v", refused, r)
		}
	}
}

// TestNameResolution asks the sandbox's resolver for the name of the Debian mirror,
// as apt would.
func TestNameResolution(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	mirror := h.Must(`. /etc/os-release; sed -n 's/^URIs: *//p; s/^deb .*\(http[^ ]*\) .*/\1/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1`)
	name := strings.Split(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(mirror), "https://"), "http://"), "/")[0]
	if name == "" {
		t.Fatalf("the image names no mirror: %q", mirror)
	}
	if r := h.Run("getent", "ahostsv4", name); r.Code != 0 {
		t.Errorf("%s: %v", name, r)
	}
}

// TestNetworkOff is a profile without a network.
func TestNetworkOff(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.ConfigureShell("network = false", "")
	h.Hold()
	if out := h.Must("ip -o addr"); strings.Contains(out, "10.0.2.") {
		t.Errorf("inside: %s", out)
	}
	for _, k := range h.Family() {
		if k.Role == "slirp" {
			t.Error("slirp4netns runs")
		}
	}
}
