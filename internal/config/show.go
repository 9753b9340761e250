package config

import (
	"fmt"
	"net/netip"
	"sort"
	"strconv"
	"time"
)

// Entry is one key of the effective configuration with its value, ready to print.
type Entry struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Source Origin `json:"-"`
}

// Text returns the value in TOML's notation, with nothing a terminal acts on.
func (e Entry) Text() string { return render(e.Value) }

// Entries lists every key, sorted, with its final value. Values forwarded from
// the host's environment are never in it, only the name they come from.
func (c *Config) Entries() []Entry {
	var out []Entry
	add := func(key string, value any) {
		o, ok := c.Origins[key]
		if !ok {
			o = Origin{Layer: LayerDefault}
		}
		out = append(out, Entry{Key: key, Value: value, Source: o})
	}
	add("default_profile", c.DefaultProfile)
	add("storage.data_root", c.Storage.DataRoot)
	add("network.default_allow", prefixTexts(c.Network.DefaultAllow))
	add("network.default_deny", prefixTexts(c.Network.DefaultDeny))
	add("escalation.enabled", c.Escalation.Enabled)
	add("escalation.socket_dir", c.Escalation.RuntimeDir)
	add("escalation.expire", (time.Duration(c.Escalation.ExpireSeconds) * time.Second).String())
	add("escalation.auto_approve", ruleTables(c.Escalation.AutoApprove))
	add("ui.theme", c.UI.Theme)
	add("ui.leader", c.UI.Leader)
	add("ui.emulator", c.UI.Emulator)
	add("ui.scrollback_lines", int64(c.UI.ScrollbackLines))
	for action, chord := range c.Keys {
		add("keys."+action, chord)
	}
	for name, p := range c.Profiles {
		p.entries(func(key string, value any) { add("profiles."+name+"."+key, value) })
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

func (p Profile) entries(add func(string, any)) {
	add("agent", p.Agent)
	add("image", p.Image)
	add("command", p.Command)
	add("install", p.Install)
	add("credential", p.Credential)
	add("persistent_dirs", p.PersistentDirs)
	add("network", p.NetworkEnabled)
	add("allow_egress", prefixTexts(p.AllowEgress))
	add("deny_egress", prefixTexts(p.DenyEgress))
	for _, v := range p.Env {
		if v.FromHost {
			add("env."+v.Name, "env:"+v.HostName)
			continue
		}
		add("env."+v.Name, v.Value)
	}
	for _, name := range p.EnvUnset {
		add("env."+name, "(not set on the host)")
	}
	add("volumes", volumeTables(p.Volumes))
	add("user", p.User)
	add("ca_certificates", p.CACertificates)
	add("escalation", p.Escalation)
	add("sandbox.directfs", p.Directfs)
	add("git.mode", p.GitMode)
	add("workspace.ignored", p.Workspace.Ignored)
	add("workspace.masks", p.Workspace.Masks)
	add("workspace.secrets", p.Workspace.Secrets)
	add("limits.processes", int64(p.Limits.Processes))
	add("limits.open_files", int64(p.Limits.OpenFiles))
	add("limits.memory", int64(p.Limits.MemoryBytes))
	add("limits.tmp", int64(p.Limits.TmpBytes))
	add("registry.insecure", p.Registry.Insecure)
}

func prefixTexts(in []netip.Prefix) []string {
	out := make([]string, len(in))
	for i, p := range in {
		out[i] = p.String()
	}
	return out
}

func ruleTables(in []Rule) []any {
	out := make([]any, len(in))
	for i, r := range in {
		out[i] = map[string]any{"argv": r.Argv, "extra_args": r.ExtraArgs}
	}
	return out
}

func volumeTables(in []Volume) []any {
	out := make([]any, len(in))
	for i, v := range in {
		mode := "rw"
		if v.ReadOnly {
			mode = "ro"
		}
		out[i] = map[string]any{"host": v.Host, "container": v.Guest, "mode": mode}
	}
	return out
}

// render prints a value in TOML's notation.
func render(v any) string {
	list := func(n int, at func(int) any) string {
		s := "["
		for i := range n {
			if i > 0 {
				s += ", "
			}
			s += render(at(i))
		}
		return s + "]"
	}
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		return list(len(v), func(i int) any { return v[i] })
	case []any:
		return list(len(v), func(i int) any { return v[i] })
	case map[string]any:
		s := "{"
		for i, k := range sortedKeys(v) {
			if i > 0 {
				s += ", "
			}
			s += k + " = " + render(v[k])
		}
		return s + "}"
	}
	return fmt.Sprint(v)
}

// entryValues maps each key to its printed value.
func entryValues(c *Config) map[string]string {
	out := map[string]string{}
	for _, e := range c.Entries() {
		out[e.Key] = e.Text()
	}
	return out
}

// String says where a value comes from, in a few words.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return string(o.Layer)
	case o.Line == 0:
		return printable(o.File)
	}
	return printable(o.File) + ":" + strconv.Itoa(o.Line)
}
