//go:build sandbox

package netpolicy_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/netpolicy"
)

// Each test starts itself again in a user and network namespace of its own, where
// tap0 is one end of a pair; at the other end, in one more network namespace,
// answers "the world".
const insideVariable = "NETPOLICY_TEST_INSIDE"

func inNamespaces(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	if os.Getenv(insideVariable) == t.Name() {
		goruntime.LockOSThread()
		test(t, newWorld(t))
		return
	}
	if os.Getenv(insideVariable) != "" {
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), insideVariable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   unix.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in its namespaces: %v\n%s", err, out)
	}
}

// worldAddresses are those the tests try; 10.0.2.2 is the world's end of the tap.
var worldAddresses = []string{
	"10.0.2.3", "10.5.5.5", "10.99.0.1", "10.99.5.1", "172.16.9.9", "192.168.1.1", "192.168.77.1", "169.254.169.254",
	"198.51.100.9", "198.51.100.10", "203.0.113.7", "203.0.113.99", "1.1.1.1", "11.0.199.1", "11.1.199.1",
}

// world is what lies outside: it answers TCP and counts UDP on port 7 and 53.
type world struct {
	t      *testing.T
	frames chan netip.Addr // destinations of UDP datagrams that got through
}

func newWorld(t *testing.T) *world {
	t.Helper()
	inside, err := netns.Get()
	check(t, err)
	outside, err := netns.New() // and this thread is in it
	check(t, err)
	check(t, netns.Set(inside))
	check(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: netpolicy.Tap}, PeerName: "peer", PeerNamespace: netlink.NsFd(outside),
	}))
	w := &world{t: t, frames: make(chan netip.Addr, 256)}
	check(t, netns.Set(outside))
	w.furnish()
	check(t, netns.Set(inside))
	return w
}

// furnish runs in the outer namespace: what listens there stays there.
func (w *world) furnish() {
	lo, err := netlink.LinkByName("lo")
	check(w.t, err)
	check(w.t, netlink.LinkSetUp(lo))
	peer, err := netlink.LinkByName("peer")
	check(w.t, err)
	addr, err := netlink.ParseAddr("10.0.2.2/24")
	check(w.t, err)
	check(w.t, netlink.AddrAdd(peer, addr))
	check(w.t, netlink.LinkSetUp(peer))
	for _, own := range worldAddresses {
		check(w.t, netlink.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(own).To4(), Mask: net.CIDRMask(32, 32)}}))
	}
	for _, port := range []string{"53", "80"} {
		l, err := net.Listen("tcp4", ":"+port)
		check(w.t, err)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, c.LocalAddr().String())
				c.Close()
			}
		}()
	}
	for _, port := range []int{7, 53} {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		check(w.t, err)
		go w.count(c)
	}
}

// count reports the destination each datagram names in its payload.
func (w *world) count(c *net.UDPConn) {
	buf := make([]byte, 64)
	for {
		n, _, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if to, err := netip.ParseAddr(string(buf[:n])); err == nil {
			w.frames <- to
		}
	}
}

// configureTap does what slirp4netns --configure does.
func (w *world) configureTap() {
	tap, err := netlink.LinkByName(netpolicy.Tap)
	check(w.t, err)
	addr, err := netlink.ParseAddr("10.0.2.100/24")
	check(w.t, err)
	check(w.t, netlink.AddrAdd(tap, addr))
	check(w.t, netlink.LinkSetUp(tap))
	check(w.t, netlink.RouteAdd(&netlink.Route{LinkIndex: tap.Attrs().Index, Gw: netpolicy.Gateway.AsSlice()}))
}

// reach says whether a TCP connection to the address gets its answer.
func (w *world) reach(to string) bool {
	w.t.Helper()
	if !strings.Contains(to, ":") {
		to += ":80"
	}
	c, err := net.DialTimeout("tcp4", to, 700*time.Millisecond)
	if err != nil {
		return false
	}
	defer c.Close()
	check(w.t, c.SetDeadline(time.Now().Add(5*time.Second)))
	b, err := io.ReadAll(c)
	return err == nil && string(b) == to
}

func (w *world) expect(what string, want map[string]bool) {
	w.t.Helper()
	for to, ok := range want {
		got := w.reach(to)
		for range 5 { // a busy machine may be slow to answer, never quick to
			if got == ok || !ok {
				break
			}
			got = w.reach(to)
		}
		if got != ok {
			w.t.Errorf("%s: %s reachable %v, want %v", what, to, got, ok)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func policy() runtime.Network {
	n, _ := netpolicy.Derive(netpolicy.Input{Enabled: true, DefaultDeny: netpolicy.DefaultDeny(),
		Allow: prefixes("10.99.0.0/16", "192.168.77.0/24"), Deny: prefixes("10.99.5.0/24", "198.51.100.9/32")})
	return n
}

// decided are the destinations of the layer tests; without a layer all are reachable.
var decided = map[string]bool{
	"10.5.5.5": false, "172.16.9.9": false, "192.168.1.1": false, "169.254.169.254": false, "198.51.100.9": false,
	"10.99.0.1": true, "10.99.5.1": false, "192.168.77.1": true, // the longest prefix wins, nested
	"203.0.113.7": true, "198.51.100.10": true, "1.1.1.1": true, "10.0.2.3:53": true,
}

func TestWithoutPolicyEverythingIsReachable(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		w.configureTap()
		all := map[string]bool{}
		for to := range decided {
			all[to] = true
		}
		w.expect("without this the other tests prove nothing", all)
	})
}

func TestRoutesAloneDeny(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		check(t, netpolicy.PrepareNamespace())
		check(t, netpolicy.InstallDenyRoutes(policy()))
		w.configureTap()
		w.expect("deny routes only", map[string]bool{"10.5.5.5": false, "10.99.0.1": false, "203.0.113.7": true})
		check(t, netpolicy.InstallAllowRoutes(policy()))
		w.expect("routes", decided)
	})
}

func TestEgressAloneDenies(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		w.configureTap()
		check(t, netpolicy.InstallEgress(policy()))
		w.expect("egress", decided)
		w.expect("egress, own network", map[string]bool{"10.0.2.3:80": false, "10.0.2.2": false, "10.0.2.2:53": false})
		w.expectFrames()
	})
}

// expectFrames sends what the sentry sends, frames of its own making past all
// routes: only the egress layer can hold them.
func (w *world) expectFrames() {
	w.t.Helper()
	send := []string{"10.5.5.5", "127.0.0.1", "192.168.1.1", "224.0.0.1", "10.0.2.2", "203.0.113.7"}
	for _, to := range send {
		w.sendFrame(netip.MustParseAddr(to), 7)
	}
	w.sendFrame(netpolicy.Resolver, 7)
	w.sendFrame(netpolicy.Resolver, 53) // in order: the last to arrive
	var got []string
	for to := range w.frames {
		got = append(got, to.String())
		if to == netpolicy.Resolver {
			break
		}
	}
	if !slices.Equal(got, []string{"203.0.113.7", "10.0.2.3"}) {
		w.t.Errorf("frames that got through: %v", got)
	}
}

func (w *world) sendFrame(to netip.Addr, port uint16) {
	w.t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	check(w.t, err)
	defer unix.Close(fd)
	tap, err := netlink.LinkByName(netpolicy.Tap)
	check(w.t, err)
	// A warm neighbour: the frame carries the peer's address.
	payload := []byte(to.String())
	frame := append(append(append([]byte{}, w.peerMAC()...), tap.Attrs().HardwareAddr...), 0x08, 0x00)
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0, 10, 0, 2, 100}
	ip = append(ip, to.AsSlice()...)
	binary.BigEndian.PutUint16(ip[2:], uint16(20+8+len(payload)))
	binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	udp := binary.BigEndian.AppendUint16(nil, 4000)
	udp = binary.BigEndian.AppendUint16(udp, port)
	udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(payload)))
	udp = append(udp, 0, 0) // no checksum
	frame = append(append(append(frame, ip...), udp...), payload...)
	// A send the hook drops succeeds or says so with EPERM or ENOBUFS; either is fine.
	_ = unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: tap.Attrs().Index, Protocol: 0x0008, Halen: 6})
}

func (w *world) peerMAC() net.HardwareAddr {
	w.t.Helper()
	if !w.reach("203.0.113.99") {
		w.t.Fatal("the peer is not there")
	}
	tap, err := netlink.LinkByName(netpolicy.Tap)
	check(w.t, err)
	list, err := netlink.NeighList(tap.Attrs().Index, netlink.FAMILY_V4)
	check(w.t, err)
	for _, n := range list {
		if len(n.HardwareAddr) == 6 {
			return n.HardwareAddr
		}
	}
	w.t.Fatal("no neighbour")
	return nil
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func TestEgressIsReplacedLive(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		w.configureTap()
		check(t, netpolicy.InstallEgress(policy()))
		w.expect("before", map[string]bool{"10.5.5.5": false, "203.0.113.7": true})
		check(t, netpolicy.InstallEgress(runtime.Network{Enabled: true, Deny: prefixes("203.0.113.0/24")}))
		w.expect("after", map[string]bool{"10.5.5.5": true, "203.0.113.7": false})
		check(t, netpolicy.InstallEgress(runtime.Network{}))
		w.expect("off", map[string]bool{"10.5.5.5": false, "203.0.113.7": false, "10.0.2.3:53": false})
		long := runtime.Network{Enabled: true}
		for i := range netpolicy.MaxRules - 1 { // and the default
			long.Deny = append(long.Deny, netip.PrefixFrom(netip.AddrFrom4([4]byte{11, 0, byte(i), 0}), 24))
		}
		check(t, netpolicy.InstallEgress(long))
		w.expect("a long list", map[string]bool{"11.0.199.1": false, "11.1.199.1": true})
		long.Deny = append(long.Deny, prefixes("11.1.0.0/16")...)
		if err := netpolicy.InstallEgress(long); fault.KindOf(err) != fault.Config {
			t.Errorf("one rule too many: %v", err)
		}
		w.expect("a list too long changes nothing", map[string]bool{"11.0.199.1": false, "11.1.199.1": true})
	})
}

func TestDenyByDefault(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		n := runtime.Network{Enabled: true, Deny: prefixes("0.0.0.0/0"), Allow: prefixes("203.0.113.0/24", "128.0.0.0/1")}
		want := map[string]bool{"1.1.1.1": false, "203.0.113.7": true, "198.51.100.9": true, "10.0.2.3:53": true}
		check(t, netpolicy.PrepareNamespace())
		check(t, netpolicy.InstallDenyRoutes(n))
		w.configureTap()
		check(t, netpolicy.InstallAllowRoutes(n))
		w.expect("routes", want)
		check(t, netpolicy.InstallEgress(n))
		w.expect("both", want)
	})
}

func TestIPv6IsOff(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		bind := func() error {
			l, err := net.Listen("tcp6", "[::1]:0")
			if err == nil {
				l.Close()
			}
			return err
		}
		lo, err := netlink.LinkByName("lo")
		check(t, err)
		check(t, netlink.LinkSetUp(lo))
		if err := bind(); err != nil {
			t.Fatalf("without the policy ::1 is missing, so the test proves nothing: %v", err)
		}
		check(t, netpolicy.PrepareNamespace())
		w.configureTap()
		if err := bind(); err == nil {
			t.Error("::1 can be bound")
		}
		if b, err := os.ReadFile("/proc/thread-self/net/if_inet6"); len(b) != 0 {
			t.Errorf("IPv6 addresses: %q, %v", b, err)
		}
	})
}

func TestVerifyReadsBack(t *testing.T) {
	inNamespaces(t, func(t *testing.T, w *world) {
		check(t, netpolicy.PrepareNamespace())
		w.configureTap()
		check(t, netpolicy.InstallRoutes(policy()))
		if err := observed(t, policy()); !errors.Is(err, netpolicy.ErrNotInForce) {
			t.Errorf("without the egress layer: %v", err)
		}
		check(t, netpolicy.InstallEgress(policy()))
		check(t, observed(t, policy()))
		first, err := netpolicy.Observe()
		check(t, err)
		w.reach("198.51.100.9") // counters move, the fingerprint does not
		again, err := netpolicy.Observe()
		check(t, err)
		if a, b := fingerprint(t, first), fingerprint(t, again); a != b {
			t.Error("the fingerprint is not stable")
		}
		other := policy()
		other.Deny = other.Deny[1:]
		if err := observed(t, other); !errors.Is(err, netpolicy.ErrNotInForce) {
			t.Errorf("another policy: %v", err)
		}
		dst := &net.IPNet{IP: net.IPv4(172, 16, 0, 0).To4(), Mask: net.CIDRMask(12, 32)}
		lo, err := netlink.LinkByName("lo")
		check(t, err)
		check(t, netlink.RouteDel(&netlink.Route{LinkIndex: lo.Attrs().Index, Dst: dst, Scope: netlink.SCOPE_LINK}))
		if err := observed(t, policy()); !errors.Is(err, netpolicy.ErrNotInForce) {
			t.Errorf("with a route less: %v", err)
		}
		less, err := netpolicy.Observe()
		check(t, err)
		if fingerprint(t, less) == fingerprint(t, first) {
			t.Error("the fingerprint does not cover the routes")
		}
	})
}

func observed(t *testing.T, n runtime.Network) error {
	t.Helper()
	o, err := netpolicy.Observe()
	check(t, err)
	return netpolicy.Verify(n, o)
}

func fingerprint(t *testing.T, o netpolicy.Observation) string {
	t.Helper()
	sum, err := o.Fingerprint()
	check(t, err)
	return fmt.Sprintf("%x", sum)
}
