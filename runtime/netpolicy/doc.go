// Package netpolicy derives a Domain's network policy, installs it twice in the
// generation's network namespace, and says what it then sees there.
//
// The two layers are independent and each denies alone. Routes: a denied prefix is a
// unicast route to lo, the one form gVisor's network stack takes over that keeps a
// packet in (blackhole and unreachable routes it drops on import, and so lets
// everything pass). Egress: an nftables chain at the tap's netdev egress hook, which
// sees every frame whoever sent it; its default is to drop.
//
// The longest prefix wins; at equal length denial wins. IPv6 is off.
//
// Everything but Derive, Rules and Decide acts on the calling thread's network
// namespace. It imports runtime, internal/{canon,fault}, and the netlink libraries; nothing
// else imports those.
package netpolicy
