package netpolicy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime"
)

// Observation is what the network namespace holds, read back from the kernel.
type Observation struct {
	Routes  []string `cbor:"1,keyasint"` // of the main table, sorted
	Chain   string   `cbor:"2,keyasint"` // where the egress chain hangs; "" is nowhere
	Rules   []string `cbor:"3,keyasint"` // of the egress chain, in order
	IPv6Off bool     `cbor:"4,keyasint"`
	// Counts are the frames each rule met, by its readable name. They are no part of
	// the fingerprint.
	Counts []Count `cbor:"-"`
}

// Count is how often a rule matched.
type Count struct {
	Rule           string
	Packets, Bytes uint64
}

// Fingerprint is a digest over all that decides what gets out.
func (o Observation) Fingerprint() ([sha256.Size]byte, error) {
	b, err := canon.Marshal(o)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(b), nil
}

// Observe reads the namespace.
func Observe() (Observation, error) {
	var o Observation
	var err error
	if o.Routes, err = observeRoutes(); err != nil {
		return o, err
	}
	if o.IPv6Off, err = ipv6Off(); err != nil {
		return o, fmt.Errorf("look whether IPv6 is off: %w", err)
	}
	return o, o.observeEgress()
}

func observeRoutes() ([]string, error) {
	list, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	var lines []string
	for _, r := range list {
		link, err := netlink.LinkByIndex(r.LinkIndex)
		if err != nil {
			return nil, fmt.Errorf("find the device of route %v: %w", r, err)
		}
		to := everything
		if r.Dst != nil {
			addr, _ := netip.AddrFromSlice(r.Dst.IP)
			ones, _ := r.Dst.Mask.Size()
			to = netip.PrefixFrom(addr.Unmap(), ones)
		}
		line := to.String()
		if r.Gw != nil {
			line += " via " + r.Gw.String()
		}
		line += " dev " + link.Attrs().Name
		if r.Type != unix.RTN_UNICAST {
			line += fmt.Sprintf(" type %d", r.Type)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, nil
}

func (o *Observation) observeEgress() error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open nftables: %w", err)
	}
	chains, err := c.ListChainsOfTableFamily(nftables.TableFamilyNetdev)
	if err != nil {
		return fmt.Errorf("list nftables chains: %w", err)
	}
	for _, chain := range chains {
		if chain.Table.Name != tableName || chain.Name != chainName {
			continue
		}
		o.Chain = chainPlace(chain)
		rules, err := c.GetRules(chain.Table, chain)
		if err != nil {
			return fmt.Errorf("list nftables rules: %w", err)
		}
		for _, r := range rules {
			o.Rules = append(o.Rules, render(r.Exprs))
			for _, e := range r.Exprs {
				if counter, ok := e.(*expr.Counter); ok {
					o.Counts = append(o.Counts, Count{string(r.UserData), counter.Packets, counter.Bytes})
				}
			}
		}
	}
	return nil
}

func chainPlace(chain *nftables.Chain) string {
	if chain.Hooknum == nil || chain.Policy == nil {
		return "no hook"
	}
	place := fmt.Sprintf("hook %d", *chain.Hooknum)
	if *chain.Hooknum == *nftables.ChainHookEgress {
		place = "egress"
	}
	policy := "accept"
	if *chain.Policy == nftables.ChainPolicyDrop {
		policy = "drop"
	}
	return place + " policy " + policy
}

// render is one rule as text, the same for what we build and what the kernel says.
func render(exprs []expr.Any) string {
	var words []string
	for _, e := range exprs {
		switch e := e.(type) {
		case *expr.Payload:
			words = append(words, fmt.Sprintf("load %d@%d+%d", e.Len, e.Base, e.Offset))
		case *expr.Bitwise:
			words = append(words, fmt.Sprintf("and %x xor %x", e.Mask, e.Xor))
		case *expr.Cmp:
			words = append(words, fmt.Sprintf("cmp%d %x", e.Op, e.Data))
		case *expr.Counter:
			words = append(words, "counter")
		case *expr.Verdict:
			words = append(words, map[expr.VerdictKind]string{expr.VerdictAccept: "accept", expr.VerdictDrop: "drop"}[e.Kind])
		default:
			words = append(words, fmt.Sprintf("%T", e))
		}
	}
	return strings.Join(words, " ")
}

// ErrNotInForce is Verify's refusal.
var ErrNotInForce = errors.New("the network policy is not in force")

// Verify compares an observation with what the policy must have made of the
// namespace: every route and every rule, and nothing else.
func Verify(n runtime.Network, o Observation) error {
	want := []string{
		everything.String() + " via " + Gateway.String() + " dev " + Tap, // slirp's two
		Subnet.String() + " dev " + Tap,
	}
	for _, r := range routes(n) {
		want = append(want, r.String())
	}
	slices.Sort(want)
	if err := same("route", want, o.Routes); err != nil {
		return err
	}
	var rules []string
	for _, r := range egress(n) {
		rules = append(rules, render(r.exprs))
	}
	if err := same("rule", rules, o.Rules); err != nil {
		return err
	}
	if o.Chain != "egress policy drop" {
		return fmt.Errorf("%w: the chain hangs at %q", ErrNotInForce, o.Chain)
	}
	if !o.IPv6Off {
		return fmt.Errorf("%w: IPv6 is on", ErrNotInForce)
	}
	return nil
}

func same(kind string, want, got []string) error {
	for _, line := range want {
		if !slices.Contains(got, line) {
			return fmt.Errorf("%w: %s %q is missing", ErrNotInForce, kind, line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			return fmt.Errorf("%w: %s %q is foreign", ErrNotInForce, kind, line)
		}
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("%w: the %ss are in another order", ErrNotInForce, kind)
	}
	return nil
}
