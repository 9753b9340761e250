package netpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
)

// route is one route of the main table, as text and as what is installed.
type route struct {
	to   netip.Prefix
	deny bool // to lo, else to the gateway
}

func (r route) String() string {
	if r.deny {
		return r.to.String() + " dev lo"
	}
	return r.to.String() + " via " + Gateway.String() + " dev " + Tap
}

// routes returns what the policy needs besides slirp's own routes.
func routes(n runtime.Network) []route {
	var list []route
	list0 := rules(n)
	for i, r := range list0 {
		switch {
		case Subnet.Contains(r.prefix.Addr()) && r.prefix.Bits() >= Subnet.Bits():
			// A route here would cut off the resolver; the egress layer denies the rest.
		case r.prefix == everything && !r.allow:
			// The default route is slirp's. Two halves are longer and so outrank it,
			// unless a half has a rule of its own.
			for _, half := range []string{"0.0.0.0/1", "128.0.0.0/1"} {
				p := netip.MustParsePrefix(half)
				if !slices.ContainsFunc(list0, func(other rule) bool { return other.prefix == p }) {
					list = append(list, route{p, true})
				}
			}
		case !r.allow:
			list = append(list, route{r.prefix, true})
		case slices.ContainsFunc(list0[i+1:], func(wider rule) bool { return !wider.allow && wider.prefix.Overlaps(r.prefix) }):
			list = append(list, route{r.prefix, false})
		}
	}
	return list
}

// PrepareNamespace brings lo up and turns IPv6 off. It comes before anything else
// in a fresh network namespace: a device that appears later then never has an
// IPv6 address.
func PrepareNamespace() error {
	if err := disableIPv6(); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	return nil
}

func disableIPv6() error {
	for _, name := range []string{"all", "default"} {
		path := "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6"
		err := os.WriteFile(path, []byte("1"), 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a kernel without IPv6
		}
		if err != nil {
			return fmt.Errorf("turn IPv6 off: %w", err)
		}
	}
	off, err := ipv6Off()
	if err == nil && !off {
		err = errors.New("the kernel kept it on")
	}
	if err != nil {
		return fmt.Errorf("turn IPv6 off: %w", err)
	}
	return nil
}

// ipv6Off reports whether no device of the namespace has IPv6.
func ipv6Off() (bool, error) {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	addresses, err := os.ReadFile("/proc/thread-self/net/if_inet6")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return strings.TrimSpace(string(b)) == "1" && len(addresses) == 0, nil
}

// InstallDenyRoutes installs the denials. It needs no tap, so that they are in
// place before there is any way out.
func InstallDenyRoutes(n runtime.Network) error {
	return install(n, true, "lo", nil)
}

// InstallAllowRoutes installs the allowances within denied prefixes. The tap must
// be up and have its address.
func InstallAllowRoutes(n runtime.Network) error {
	return install(n, false, Tap, Gateway.AsSlice())
}

// InstallRoutes prepares the namespace and installs all routes of the policy; the
// tap must be there.
func InstallRoutes(n runtime.Network) error {
	if err := PrepareNamespace(); err != nil {
		return err
	}
	if err := InstallDenyRoutes(n); err != nil {
		return err
	}
	return InstallAllowRoutes(n)
}

func install(n runtime.Network, deny bool, device string, gateway net.IP) error {
	list := slices.DeleteFunc(routes(n), func(r route) bool { return r.deny != deny })
	if len(list) == 0 {
		return nil
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find network device %q: %w", device, err)
	}
	for _, r := range list {
		scope := netlink.SCOPE_UNIVERSE
		if deny {
			scope = netlink.SCOPE_LINK
		}
		err := netlink.RouteReplace(&netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: ipNet(r.to), Gw: gateway, Scope: scope, Type: unix.RTN_UNICAST,
		})
		if err != nil {
			return fmt.Errorf("install route %q: %w", r, err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}
