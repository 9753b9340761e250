package netpolicy

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// The chain, first match decides:
//
//	ether type arp                        accept
//	ether type != ip                      drop
//	ip daddr <martian>                    drop
//	ip daddr 10.0.2.3 udp|tcp dport 53    accept
//	ip daddr 10.0.2.0/24                  drop
//	ip daddr <prefix>, longest first      accept | drop
//	(policy)                              drop
const (
	tableName = "lazaret"
	chainName = "egress"
)

// MaxRules bounds a policy: the kernel takes a whole chain in one message, whose size
// is limited, and each rule costs every frame a comparison.
const MaxRules = 256

// socketBuffer, in bytes, holds the kernel's answer to each rule of a batch; what an
// ordinary user may have is less, and enough for MaxRules.
const socketBuffer = 1 << 20

// Offsets and lengths, in bytes.
const (
	etherTypeAt = 12
	protocolAt  = 9
	daddrAt     = 16
	dportAt     = 2
)

const register = unix.NFT_REG32_00

// nftRule is one rule with its readable name, which is stored with it.
type nftRule struct {
	name  string
	exprs []expr.Any
}

// InstallEgress installs the egress layer on the tap, which must exist, or replaces
// what is installed, in one step: no frame meets a half of it.
func InstallEgress(n runtime.Network) error {
	list := egress(n)
	if count := len(rules(n)); count > MaxRules {
		return &fault.Error{Kind: fault.Config,
			Message: fmt.Sprintf("the network policy has %d rules, at most %d can be installed", count, MaxRules),
			Fix:     "merge neighbouring prefixes in [network] and in the profile's allow_egress and deny_egress"}
	}
	if _, err := net.InterfaceByName(Tap); err != nil {
		return fmt.Errorf("install the egress policy: find network device %q: %w", Tap, err)
	}
	c, err := nftables.New(nftables.WithSockOptions(func(c *netlink.Conn) error {
		return c.SetReadBuffer(socketBuffer)
	}))
	if err != nil {
		return fmt.Errorf("install the egress policy: open nftables: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyNetdev, Name: tableName}
	c.AddTable(table) // so that deleting cannot fail
	c.DelTable(table)
	c.AddTable(table)
	drop := nftables.ChainPolicyDrop
	chain := c.AddChain(&nftables.Chain{
		Name: chainName, Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookEgress, Priority: nftables.ChainPriorityFilter,
		Policy: &drop, Device: Tap,
	})
	for _, r := range list {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: r.exprs, UserData: []byte(r.name)})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("install the egress policy: %w", err)
	}
	return nil
}

func egress(n runtime.Network) []nftRule {
	if !n.Enabled {
		return nil // the policy of the chain drops all
	}
	list := []nftRule{
		{"allow ARP", verdict(etherType(expr.CmpOpEq, unix.ETH_P_ARP), true)},
		{"deny all but IPv4", verdict(etherType(expr.CmpOpNeq, unix.ETH_P_IP), false)},
	}
	for _, p := range martians {
		list = append(list, nftRule{"deny not a destination " + p.String(), verdict(daddr(p), false)})
	}
	resolver := netip.PrefixFrom(Resolver, 32)
	for _, protocol := range dnsProtocols {
		list = append(list, nftRule{"allow DNS over " + protocol.name, verdict(append(daddr(resolver), port(protocol.number, 53)...), true)})
	}
	list = append(list, nftRule{"deny own network " + Subnet.String(), verdict(daddr(Subnet), false)})
	for _, r := range rules(n) {
		list = append(list, nftRule{r.String(), verdict(daddr(r.prefix), r.allow)})
	}
	return list
}

var dnsProtocols = []struct {
	name   string
	number byte
}{{"UDP", unix.IPPROTO_UDP}, {"TCP", unix.IPPROTO_TCP}}

func etherType(op expr.CmpOp, value uint16) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseLLHeader, Offset: etherTypeAt, Len: 2},
		&expr.Cmp{Op: op, Register: register, Data: []byte{byte(value >> 8), byte(value)}},
	}
}

func daddr(p netip.Prefix) []expr.Any {
	exprs := []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: daddrAt, Len: 4},
	}
	if p.Bits() < 32 {
		exprs = append(exprs, &expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: 4,
			Mask: net.CIDRMask(p.Bits(), 32), Xor: make([]byte, 4),
		})
	}
	return append(exprs, &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: p.Addr().AsSlice()})
}

func port(protocol byte, number uint16) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: protocolAt, Len: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{protocol}},
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: dportAt, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{byte(number >> 8), byte(number)}},
	}
}

func verdict(match []expr.Any, accept bool) []expr.Any {
	kind := expr.VerdictDrop
	if accept {
		kind = expr.VerdictAccept
	}
	return append(match, &expr.Counter{}, &expr.Verdict{Kind: kind})
}
