package netpolicy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"lazaret.dev/lazaret/runtime"
)

// The addresses slirp4netns uses inside the namespace (its own defaults).
var (
	// Gateway is where everything allowed is sent.
	Gateway = netip.MustParseAddr("10.0.2.2")
	// Resolver answers DNS, through the host's resolver.
	Resolver = netip.MustParseAddr("10.0.2.3")
	// Subnet is the tap's own network; in it only Resolver is of use.
	Subnet = netip.MustParsePrefix("10.0.2.0/24")
)

// Tap is the name of slirp4netns's device.
const Tap = "tap0"

var everything = netip.MustParsePrefix("0.0.0.0/0")

// martians may never be a destination outside: this network, loopback, multicast,
// reserved and broadcast. slirp would take some of them for the host's own.
var martians = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"),
}

// DefaultDeny is denied unless configured otherwise: the private ranges of RFC 1918,
// and link-local addresses, where clouds keep their metadata service. Nothing else
// is: the documentation ranges of RFC 5737, for one, stay ordinary destinations.
func DefaultDeny() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("169.254.0.0/16"),
	}
}

// Input is what the developer configured.
type Input struct {
	Enabled                   bool
	DefaultAllow, DefaultDeny []netip.Prefix // of every profile
	Allow, Deny               []netip.Prefix // of this profile
}

// Derive merges the configured lists into the policy of a generation: masked,
// sorted, without repetition, and without an allowance that a denial of the same
// prefix overrules. notices says, for the developer, what was dropped and why.
func Derive(in Input) (policy runtime.Network, notices []string) {
	if !in.Enabled {
		return runtime.Network{}, nil
	}
	policy = runtime.Network{Enabled: true}
	policy.Deny, notices = normalise(in.DefaultDeny, in.Deny)
	allow, more := normalise(in.DefaultAllow, in.Allow)
	notices = append(notices, more...)
	for _, p := range allow {
		if slices.Contains(policy.Deny, p) {
			notices = append(notices, fmt.Sprintf("%s is both allowed and denied; it is denied", p))
			continue
		}
		policy.Allow = append(policy.Allow, p)
	}
	return policy, notices
}

func normalise(lists ...[]netip.Prefix) (prefixes []netip.Prefix, notices []string) {
	for _, p := range slices.Concat(lists...) {
		if !p.IsValid() {
			continue // only a programming error makes one; parsing refuses them
		}
		if p = mapped(p); !p.Addr().Is4() {
			notices = append(notices, fmt.Sprintf("%s has no effect: the sandbox has no IPv6", p))
			continue
		}
		prefixes = append(prefixes, p.Masked())
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int { return a.Compare(b) })
	return slices.Compact(prefixes), notices
}

// mapped returns the IPv4 prefix an IPv4-mapped IPv6 prefix stands for.
func mapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// rule is one line of the policy.
type rule struct {
	prefix netip.Prefix
	allow  bool
}

func (r rule) String() string {
	if r.allow {
		return "allow " + r.prefix.String()
	}
	return "deny " + r.prefix.String()
}

// rules returns the whole policy in the order of decision: longest prefix first,
// denial before allowance, with the default last. The first match decides.
func rules(n runtime.Network) []rule {
	list := []rule{{everything, n.Enabled}}
	for _, p := range n.Deny {
		list = append(list, rule{mapped(p).Masked(), false})
	}
	if n.Enabled {
		for _, p := range n.Allow {
			list = append(list, rule{mapped(p).Masked(), true})
		}
	}
	list = slices.DeleteFunc(list, func(r rule) bool { return !r.prefix.IsValid() || !r.prefix.Addr().Is4() })
	slices.SortStableFunc(list, func(a, b rule) int {
		return cmp.Or(
			cmp.Compare(b.prefix.Bits(), a.prefix.Bits()),
			a.prefix.Addr().Compare(b.prefix.Addr()),
			cmp.Compare(order(a.allow), order(b.allow)),
		)
	})
	return slices.CompactFunc(list, func(a, b rule) bool { return a.prefix == b.prefix })
}

func order(allow bool) int {
	if allow {
		return 1
	}
	return 0
}

// Decide says whether the policy lets the sandbox reach an address, and by which
// rule. Rules that are not configured have names of their own.
func Decide(n runtime.Network, to netip.Addr) (allowed bool, by string) {
	to = to.Unmap()
	switch {
	case !n.Enabled:
		return false, "the network is off"
	case !to.Is4():
		return false, "the sandbox has no IPv6"
	case to == Resolver:
		return true, "the sandbox's resolver"
	case Subnet.Contains(to):
		return false, "the sandbox's own network"
	}
	for _, p := range martians {
		if p.Contains(to) {
			return false, "not a destination (" + p.String() + ")"
		}
	}
	for _, r := range rules(n) {
		if r.prefix.Contains(to) {
			return r.allow, r.String()
		}
	}
	return false, "no rule"
}

// Rules renders the policy for a person, in the order of decision.
func Rules(n runtime.Network) []string {
	if !n.Enabled {
		return []string{"no network"}
	}
	lines := []string{"allow " + Resolver.String() + " port 53 (DNS)"}
	for _, r := range rules(n) {
		if r.prefix == everything && r.allow {
			lines = append(lines, "allow everything else in IPv4")
			continue
		}
		lines = append(lines, r.String())
	}
	return append(lines, "IPv6 is off")
}
