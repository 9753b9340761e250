package config

import (
	"sort"
	"strings"
)

// kind is what TOML must hold for a key; nothing is ever converted.
type kind int

const (
	kindString  kind = iota
	kindBool         // true or false
	kindInt          // a whole number
	kindStrings      // an array of strings
	kindSize         // bytes as a whole number, or a string like "512MiB"
	kindVolumes      // an array of tables {host, container, mode}
	kindRules        // an array of strings or tables {argv, extra_args}
)

// key is one row of the table of keys.
type key struct {
	path string // "*" stands for a name the developer chose
	kind kind
	// check judges one string: the value, or each element of an array.
	check func(string) error
	// number judges a kindInt.
	number func(int64) error
	// order says whether a value grants no more than another. Only a key with an
	// order may stand in an untrusted workspace file.
	order order
	// why says, for a key without an order, what it would let the writer of the
	// workspace do.
	why string
}

const (
	whyHost  = "it decides what of this host is used"
	whyCode  = "it decides what runs"
	whyUI    = "it decides how you see and steer Lazaret"
	whyState = "it decides what persists"
)

// keys is the whole configuration. docs/configuration.md lists the same names,
// and a test compares the two.
var keys = []key{
	{path: "default_profile", check: profileName, why: whyCode},

	{path: "storage.data_root", why: whyHost, check: hostPathShape},

	{path: "network.default_allow", kind: kindStrings, check: prefixShape, order: onlyOldStrings},
	{path: "network.default_deny", kind: kindStrings, check: prefixShape, order: allOldStrings},

	{path: "escalation.enabled", kind: kindBool, order: onlyFalse},
	{path: "escalation.socket_dir", why: whyHost, check: hostPathShape},
	{path: "escalation.expire", check: expireShape, order: onlySooner},
	{path: "escalation.auto_approve", kind: kindRules, order: onlyOldRules},

	{path: "ui.theme", check: oneOf("dark", "light", "terminal-16"), why: whyUI},
	{path: "ui.leader", check: chord, why: whyUI},
	{path: "ui.emulator", check: oneOf("vt10x"), why: whyUI},
	{path: "ui.scrollback_lines", kind: kindInt, number: between(0, 1_000_000), why: whyUI},

	{path: "keys.*", check: chordOrNothing, why: whyUI},

	{path: "profiles.*.agent", check: agentName, why: whyCode},
	{path: "profiles.*.image", check: imageShape, why: whyCode},
	{path: "profiles.*.command", kind: kindStrings, check: noNUL, why: whyCode},
	{path: "profiles.*.install", check: noNUL, why: whyCode},
	{path: "profiles.*.credential", check: guestFileShape, why: whyHost},
	{path: "profiles.*.persistent_dirs", kind: kindStrings, check: persistentShape, why: whyState},
	{path: "profiles.*.network", kind: kindBool, order: onlyFalse},
	{path: "profiles.*.allow_egress", kind: kindStrings, check: prefixShape, order: onlyOldStrings},
	{path: "profiles.*.deny_egress", kind: kindStrings, check: prefixShape, order: allOldStrings},
	{path: "profiles.*.env.*", check: noNUL, why: whyHost},
	{path: "profiles.*.volumes", kind: kindVolumes, why: whyHost},
	{path: "profiles.*.user", check: userShape, why: whyCode},
	{path: "profiles.*.ca_certificates", check: certificatesShape, why: whyHost},
	{path: "profiles.*.escalation", kind: kindBool, order: onlyFalse},
	{path: "profiles.*.sandbox.directfs", kind: kindBool, order: onlyFalse},
	{path: "profiles.*.git.mode", check: oneOf("shared", "worktree"), order: onlyWorktree},
	{path: "profiles.*.workspace.ignored", check: oneOf("domain", "shared"), order: onlyDomain},
	{path: "profiles.*.workspace.masks", kind: kindStrings, check: namePatternShape, order: allOldStrings},
	{path: "profiles.*.workspace.secrets", kind: kindStrings, check: namePatternShape, order: allOldStrings},
	{path: "profiles.*.limits.processes", kind: kindInt, number: between(0, 4_194_304), order: onlyLower},
	{path: "profiles.*.limits.open_files", kind: kindInt, number: between(0, 1<<30), order: onlyLower},
	{path: "profiles.*.limits.memory", kind: kindSize, order: onlyLower},
	{path: "profiles.*.limits.tmp", kind: kindSize, order: onlyLower},
	{path: "profiles.*.registry.insecure", kind: kindBool, order: onlyFalse},
}

// names judges the names a developer may choose, by the place of the "*".
var names = map[string]func(string) error{
	"profiles":       profileName,
	"profiles.*.env": envName,
	"keys":           actionName,
}

// branch is one level of the table of keys as a tree.
type branch struct {
	path     string // dotted, with "*"
	children map[string]*branch
	leaf     *key
}

// schema is the table of keys as a tree, built once from constants.
var schema = plant(keys)

func plant(table []key) *branch {
	root := &branch{children: map[string]*branch{}}
	for i := range table {
		at := root
		for _, part := range strings.Split(table[i].path, ".") {
			next := at.children[part]
			if next == nil {
				next = &branch{path: strings.TrimPrefix(at.path+"."+part, "."), children: map[string]*branch{}}
				at.children[part] = next
			}
			at = next
		}
		at.leaf = &table[i]
	}
	return root
}

// child returns the branch below b that name selects, and whether name is one
// the developer chose.
func (b *branch) child(name string) (next *branch, chosen bool) {
	if next, ok := b.children["*"]; ok {
		return next, true
	}
	return b.children[name], false
}

// known lists the names b accepts.
func (b *branch) known() []string {
	var out []string
	for name := range b.children {
		if name != "*" {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// Keys returns the dotted names of all keys, "*" standing for a chosen name.
func Keys() []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.path
	}
	return out
}
