package config

import (
	"net/netip"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"lazaret.dev/lazaret/internal/agents"
	"lazaret.dev/lazaret/internal/domain"
)

// builder turns merged settings into a Config and collects what is wrong with
// values that only make sense once expanded.
type builder struct {
	merged   *merged
	host     hostFacts
	config   *Config
	problems Problems
}

func (b *builder) problem(key string, err error) {
	o := b.merged.origins[key]
	b.problems = append(b.problems, Problem{File: o.File, Line: o.Line, Key: key, Message: err.Error(), Hint: hintOf(err)})
}

// path expands one host path setting; "" stays "".
func (b *builder) path(key, value string, t tokens) string {
	if value == "" {
		return ""
	}
	out, err := expandPath(value, b.host.home, t)
	if err != nil {
		b.problem(key, err)
	}
	return out
}

func (b *builder) build(s settings) {
	c := b.config
	c.DefaultProfile = s.DefaultProfile
	c.Storage.DataRoot = b.dataRoot(s.Storage.DataRoot)
	c.Network.DefaultAllow = prefixes(s.Network.DefaultAllow)
	c.Network.DefaultDeny = prefixes(s.Network.DefaultDeny)
	c.Escalation.Enabled = s.Escalation.Enabled
	c.Escalation.RuntimeDir = b.path("escalation.socket_dir", s.Escalation.SocketDir, nil)
	c.Escalation.ExpireSeconds = expireSeconds(s.Escalation.Expire)
	for _, r := range s.Escalation.AutoApprove {
		c.Escalation.AutoApprove = append(c.Escalation.AutoApprove, Rule(r))
	}
	c.UI = UI{Theme: s.UI.Theme, Leader: s.UI.Leader, Emulator: s.UI.Emulator, ScrollbackLines: s.UI.ScrollbackLines}
	c.Keys = s.Keys
	if c.Keys == nil {
		c.Keys = map[string]string{}
	}
	c.Profiles = map[string]Profile{}
	for _, name := range profileNames(s.Profiles) {
		c.Profiles[name] = b.profile(name, s.Profiles[name])
	}
	if _, ok := c.Profiles[c.DefaultProfile]; !ok {
		b.problem("default_profile", bad(didYouMean(c.DefaultProfile, profileNames(c.Profiles)), "there is no profile %q", c.DefaultProfile))
	}
}

func (b *builder) dataRoot(value string) string {
	if value != "" {
		return b.path("storage.data_root", value, nil)
	}
	if b.host.dataHome == "" {
		b.problem("storage.data_root", bad("set HOME, XDG_DATA_HOME or storage.data_root", "no home directory is known to keep Domains in"))
	}
	return filepath.Join(b.host.dataHome, "lazaret")
}

func (b *builder) tokens(profile string) tokens {
	id, _ := domain.Identify(profile, b.config.Workspace)
	root := b.config.Storage.DataRoot
	return tokens{
		"profile_name":  profile,
		"profile_dir":   filepath.Join(root, profile),
		"domain_hash":   string(id),
		"domain_dir":    filepath.Join(root, "domains", string(id)),
		"workspace_dir": b.config.Workspace,
	}
}

func (b *builder) profile(name string, s profileSettings) Profile {
	key := func(k string) string { return "profiles." + name + "." + k }
	t := b.tokens(name)
	p := Profile{
		Name: name, Agent: s.Agent, User: s.User,
		Image:          b.image(key("image"), s.Image, t),
		PersistentDirs: b.persistent(key("persistent_dirs"), s.PersistentDirs),
		AllowEgress:    prefixes(s.AllowEgress),
		DenyEgress:     prefixes(s.DenyEgress),
		NetworkEnabled: s.Network,
		Volumes:        b.volumes(key("volumes"), s.Volumes, t),
		Directfs:       s.Sandbox.Directfs,
		CACertificates: s.CACertificates,
		Escalation:     s.Escalation,
		GitMode:        s.Git.Mode,
		Workspace:      s.Workspace,
		Limits:         Limits{Processes: s.Limits.Processes, OpenFiles: s.Limits.OpenFiles, MemoryBytes: s.Limits.Memory, TmpBytes: s.Limits.Tmp},
		Registry:       Registry(s.Registry),
	}
	if s.CACertificates != "host" && s.CACertificates != "image" {
		p.CACertificates = b.path(key("ca_certificates"), s.CACertificates, t)
	}
	b.recipe(&p, s, t)
	return p
}

// recipe fills what the profile leaves to its agent's recipe.
func (b *builder) recipe(p *Profile, s profileSettings, t tokens) {
	key := func(k string) string { return "profiles." + p.Name + "." + k }
	agent, known := agents.Lookup(p.Agent)
	take := func(k string) bool {
		if b.merged.isSet(key(k)) {
			return false
		}
		if known {
			b.merged.origins[key(k)] = Origin{Layer: LayerRecipe}
		}
		return true
	}
	p.Install, p.Credential, p.Command = s.Install, s.Credential, s.Command
	if take("install") {
		p.Install = agent.Install
	}
	if take("credential") {
		p.Credential = agent.Credential
	}
	if take("command") {
		p.Command = agent.Command
	}
	if len(p.Command) == 0 {
		p.Command = shellCommand
	}
	for i, w := range p.Command {
		if i == 0 {
			p.Command = append([]string(nil), p.Command...)
		}
		p.Command[i] = t.words(w)
	}
	for _, v := range agent.Env {
		if _, ok := s.Env[v.Name]; !ok {
			p.Env = append(p.Env, EnvVar{Name: v.Name, Value: v.Value})
			b.merged.origins[key("env."+v.Name)] = Origin{Layer: LayerRecipe}
		}
	}
	b.env(p, s.Env, t)
}

// env resolves the profile's own variables. One the host does not have is left
// out: an API key that is not set is not the same as an empty one.
func (b *builder) env(p *Profile, env map[string]string, t tokens) {
	for name, value := range env {
		from, forwarded := strings.CutPrefix(value, "env:")
		if !forwarded {
			p.Env = append(p.Env, EnvVar{Name: name, Value: t.words(value)})
			continue
		}
		if !envPattern.MatchString(from) {
			b.problem("profiles."+p.Name+".env."+name, bad(`write "env:NAME"`, "%q does not name a variable of the host", value))
			continue
		}
		if v, ok := b.host.lookup(from); ok {
			p.Env = append(p.Env, EnvVar{Name: name, Value: v, FromHost: true, HostName: from})
		} else {
			p.EnvUnset = append(p.EnvUnset, name)
		}
	}
	sort.Slice(p.Env, func(i, j int) bool { return p.Env[i].Name < p.Env[j].Name })
	sort.Strings(p.EnvUnset)
}

func (b *builder) image(key, value string, t tokens) string {
	for _, scheme := range []string{"oci:", "docker-archive:"} {
		if p, ok := strings.CutPrefix(value, scheme); ok {
			return scheme + b.path(key, p, t)
		}
	}
	return value
}

func (b *builder) persistent(key string, dirs []string) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = path.Clean(d)
		for _, other := range out[:i] {
			if overlap(out[i], other) {
				b.problem(key, bad("name the outer one only", "%q and %q overlap", other, out[i]))
			}
		}
	}
	return out
}

func (b *builder) volumes(key string, entries []volumeEntry, t tokens) []Volume {
	out := make([]Volume, 0, len(entries))
	for _, e := range entries {
		v := Volume{Host: b.path(key, e.Host, t), ReadOnly: e.Mode == "ro"}
		guest, err := t.strict(e.Container)
		if err == nil {
			v.Guest = path.Clean(guest)
			err = guestTarget(v.Guest)
		}
		for _, other := range out {
			if err == nil && overlap(v.Guest, other.Guest) {
				err = bad("", "%q and %q overlap inside the sandbox", other.Guest, v.Guest)
			}
		}
		if err != nil {
			b.problem(key, err)
		}
		out = append(out, v)
	}
	return out
}

// guestTarget refuses places inside that are Lazaret's or the kernel's.
func guestTarget(guest string) error {
	for _, never := range []string{"/proc", "/sys", "/dev", "/run", "/workspace"} {
		if overlap(guest, never) {
			return bad(`choose a place such as "/data"`, "nothing may be mounted at %q inside", guest)
		}
	}
	for _, never := range []string{"/usr", "/etc", "/bin", "/lib", "/lib64", "/sbin", "/var", "/root", "/home", "/opt", "/tmp"} {
		if guest == never {
			return bad("name a folder below it", "%q would hide the image's own files", guest)
		}
	}
	return nil
}

func prefixes(in []string) []netip.Prefix {
	out := make([]netip.Prefix, len(in))
	for i, s := range in {
		out[i] = netip.MustParsePrefix(s) // checked by prefixShape
	}
	return out
}

func expireSeconds(s string) int {
	d, _ := time.ParseDuration(s) // checked by expireShape
	return int(d / time.Second)
}

func profileNames[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
