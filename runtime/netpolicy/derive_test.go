package netpolicy_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/netpolicy"
)

func prefixes(list ...string) (p []netip.Prefix) {
	for _, s := range list {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

func TestDeriveMergesAndOverrules(t *testing.T) {
	t.Parallel()
	policy, notices := netpolicy.Derive(netpolicy.Input{
		Enabled:      true,
		DefaultDeny:  prefixes("10.1.2.3/8", "192.168.0.0/16"),
		DefaultAllow: prefixes("10.1.0.0/16", "192.168.0.0/16"),
		Allow:        prefixes("10.1.0.0/16", "fd00::/8", "::ffff:10.2.0.0/112"),
		Deny:         prefixes("203.0.113.7/32"),
	})
	if want := prefixes("10.0.0.0/8", "192.168.0.0/16", "203.0.113.7/32"); !slices.Equal(policy.Deny, want) {
		t.Errorf("deny = %v", policy.Deny)
	}
	if want := prefixes("10.1.0.0/16", "10.2.0.0/16"); !slices.Equal(policy.Allow, want) {
		t.Errorf("allow = %v", policy.Allow)
	}
	if len(notices) != 2 || !strings.Contains(strings.Join(notices, "\n"), "192.168.0.0/16 is both") {
		t.Errorf("notices = %q", notices)
	}
	if off, _ := netpolicy.Derive(netpolicy.Input{Allow: prefixes("1.2.3.4/32")}); off.Enabled || off.Allow != nil {
		t.Errorf("a network that is off has %+v", off)
	}
}

func TestDefaultPolicy(t *testing.T) {
	t.Parallel()
	policy, _ := netpolicy.Derive(netpolicy.Input{Enabled: true, DefaultDeny: netpolicy.DefaultDeny(), Allow: prefixes("10.99.0.1/32")})
	for to, want := range map[string]bool{
		"10.5.5.5": false, "172.16.9.9": false, "172.31.255.255": false, "192.168.77.1": false, // RFC 1918
		"169.254.169.254": false, "169.254.0.1": false, // metadata
		"192.0.2.1": true, "198.51.100.9": true, "203.0.113.7": true, // RFC 5737 stays reachable
		"172.32.0.1": true, "11.0.0.1": true, "192.169.0.1": true, "1.1.1.1": true, // just outside
		"10.99.0.1": true, "10.99.0.2": false,
		"10.0.2.3": true, "10.0.2.2": false, // the resolver, and the host's loopback
		"127.0.0.1": false, "0.0.0.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::1": false, "2001:db8::1": false, "::ffff:10.5.5.5": false, "::ffff:203.0.113.7": true,
	} {
		if got, by := netpolicy.Decide(policy, netip.MustParseAddr(to)); got != want {
			t.Errorf("%s: allowed %v by %q, want %v", to, got, by, want)
		}
	}
	lines := netpolicy.Rules(policy)
	if lines[1] != "allow 10.99.0.1/32" || lines[len(lines)-1] != "IPv6 is off" || lines[len(lines)-2] != "allow everything else in IPv4" {
		t.Errorf("rules = %q", lines)
	}
	if off := netpolicy.Rules(runtime.Network{}); !slices.Equal(off, []string{"no network"}) {
		t.Errorf("rules without a network = %q", off)
	}
}

// near draws from a small world, so that rules overlap.
func near(t *rapid.T, name string) netip.Addr {
	return netip.AddrFrom4([4]byte{
		rapid.SampledFrom([]byte{10, 11, 203}).Draw(t, name+"0"), rapid.SampledFrom([]byte{0, 1, 128}).Draw(t, name+"1"),
		rapid.SampledFrom([]byte{1, 3}).Draw(t, name+"2"), rapid.SampledFrom([]byte{0, 1, 255}).Draw(t, name+"3"),
	})
}

func lists(t *rapid.T, name string) []netip.Prefix {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) netip.Prefix {
		return netip.PrefixFrom(near(t, "p"), rapid.IntRange(0, 32).Draw(t, "bits"))
	}), 0, 6).Draw(t, name)
}

// The oracle looks at every configured prefix and lets the longest decide.
func oracle(allow, deny []netip.Prefix, to netip.Addr) bool {
	best, allowed := -1, true
	for _, p := range allow {
		if p.Contains(to) && p.Bits() > best {
			best, allowed = p.Bits(), true
		}
	}
	for _, p := range deny {
		if p.Contains(to) && p.Bits() >= best {
			best, allowed = p.Bits(), false
		}
	}
	return allowed
}

func TestDecideIsTheLongestPrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := netpolicy.Input{Enabled: true,
			DefaultAllow: lists(t, "default allow"), DefaultDeny: lists(t, "default deny"),
			Allow: lists(t, "allow"), Deny: lists(t, "deny"),
		}
		policy, _ := netpolicy.Derive(in)
		to := near(t, "to")
		want := oracle(slices.Concat(in.DefaultAllow, in.Allow), slices.Concat(in.DefaultDeny, in.Deny), to)
		if got, by := netpolicy.Decide(policy, to); got != want {
			t.Fatalf("%v: %v by %q, want %v", to, got, by, want)
		}
		// The routes decide the same, by the kernel's own rule over them and slirp's.
		best, denied := 0, false
		for _, r := range netpolicy.Routes(policy) {
			if p := netip.MustParsePrefix(r.To); p.Contains(to) && p.Bits() > best {
				best, denied = p.Bits(), r.Deny
			}
		}
		if denied == want {
			t.Fatalf("%v: routes deny %v, want %v: %v", to, denied, !want, netpolicy.Routes(policy))
		}
		again, _ := netpolicy.Derive(netpolicy.Input{Enabled: true, Allow: policy.Allow, Deny: policy.Deny})
		if !slices.Equal(again.Allow, policy.Allow) || !slices.Equal(again.Deny, policy.Deny) {
			t.Fatalf("Derive is not idempotent: %+v, %+v", policy, again)
		}
	})
}
