package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime"
)

// fingerprint is the Configuration Fingerprint: SHA-256 over the canonical facts.
func fingerprint(facts []wire.Fact) ([]byte, error) {
	record, err := canon.Marshal(facts)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(record)
	return sum[:], nil
}

// facts are the inputs of the fingerprint: what a second client must have the same
// to join. What belongs to one session only (its command, its terminal), or is the
// host's at the time (certificates, terminfo, the Git identity and ignore file), is not in it. Their
// order and names are part of the fingerprint.
func (b builder) facts(p Plan) []wire.Fact {
	var facts []wire.Fact
	add := func(name, value string) {
		facts = append(facts, wire.Fact{Name: name, Value: strings.ToValidUTF8(value, "\uFFFD")})
	}
	s := p.Spec
	add("profile", p.Profile)
	add("workspace", p.Workspace)
	add("agent", b.profile.Agent)
	add("image", b.profile.Image)
	add("prepared image", p.LowerID)
	add("id mapping", describeIDs(s.IDs))
	add("user", fmt.Sprintf("%d:%d", s.User.UID, s.User.GID))
	add("persistent directories", strings.Join(b.profile.PersistentDirs, " "))
	add("volumes", describeVolumes(s.Volumes))
	add("ignored paths", string(s.Policy.Ignored))
	add("masked folders", strings.Join(s.Policy.Masks, " "))
	add("secret files", strings.Join(s.Policy.Secrets, " "))
	add("repositories outside", strings.Join(s.Policy.GitDirs, " "))
	add("network", onOff(s.Network.Enabled))
	add("allowed networks", describePrefixes(s.Network.Allow))
	add("denied networks", describePrefixes(s.Network.Deny))
	add("environment", b.describeEnv())
	add("certificates", b.profile.CACertificates)
	add("install step", short(b.profile.Install))
	add("login file", b.profile.Credential)
	add("limits", fmt.Sprintf("processes %d, open files %d, memory %d, tmp %d",
		s.Limits.Processes, s.Limits.OpenFiles, s.Limits.MemoryBytes, s.Limits.TmpBytes))
	add("directfs", onOff(s.Directfs))
	add("escalation", onOff(p.Escalation))
	add("request expiry", fmt.Sprintf("%d s", p.Expire))
	add("approved without asking", describeRules(p.Rules))
	return facts
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// short stands for a text that is too long, or too secret, to show.
func short(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

func describeIDs(ids runtime.IDs) string {
	if ids.Mode == runtime.ModeSingle {
		return string(ids.Mode)
	}
	return fmt.Sprintf("%s %d+%d %d+%d", ids.Mode, ids.UIDs.Host, ids.UIDs.Count, ids.GIDs.Host, ids.GIDs.Count)
}

func describeVolumes(volumes []runtime.Volume) string {
	var out []string
	for _, v := range volumes {
		mode := "rw"
		if v.ReadOnly {
			mode = "ro"
		}
		out = append(out, fmt.Sprintf("%s at %s (%s)", v.Host, v.Guest, mode))
	}
	return strings.Join(out, ", ")
}

func describePrefixes(prefixes []netip.Prefix) string {
	var out []string
	for _, p := range prefixes {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// describeEnv names every variable; the value of a forwarded one is never shown.
func (b builder) describeEnv() string {
	var out []string
	for _, v := range b.profile.Env {
		value := v.Value
		if v.FromHost {
			value = "(host) " + short(v.Value)
		}
		out = append(out, v.Name+"="+value)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func describeRules(rules []Rule) string {
	var out []string
	for _, r := range rules {
		rule := fmt.Sprintf("%q", r.Argv)
		if r.ExtraArgs {
			rule += "…"
		}
		out = append(out, rule)
	}
	return strings.Join(out, ", ")
}

// policyLines is the network policy for a person, most specific rule first.
func policyLines(n runtime.Network) []string {
	if !n.Enabled {
		return []string{"no network"}
	}
	type rule struct {
		prefix netip.Prefix
		verb   string
	}
	var rules []rule
	for _, p := range n.Deny {
		rules = append(rules, rule{p, "deny"})
	}
	for _, p := range n.Allow {
		rules = append(rules, rule{p, "allow"})
	}
	slices.SortStableFunc(rules, func(a, b rule) int { return b.prefix.Bits() - a.prefix.Bits() })
	lines := make([]string, 0, len(rules)+3)
	for _, r := range rules {
		lines = append(lines, r.verb+" "+r.prefix.String())
	}
	return append(slices.Compact(lines), "allow the sandbox's own DNS resolver", "allow every other IPv4 destination", "deny IPv6")
}
