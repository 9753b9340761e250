package config

import (
	"encoding/hex"
	"fmt"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"lazaret.dev/lazaret/internal/agents"
)

// merged is the layers so far, merged by viper. Viper lower-cases every map key
// and converts scalars that do not fit, so it sees checked values only, and names
// with capitals (environment variables) go in spelled in hexadecimal.
type merged struct {
	viper    *viper.Viper
	origins  map[string]Origin
	profiles map[string]bool
}

func newMerged() *merged {
	m := &merged{
		viper:    viper.NewWithOptions(viper.KeyDelimiter(delimiter)),
		origins:  map[string]Origin{},
		profiles: map[string]bool{},
	}
	m.set(globalDefaults())
	for _, name := range builtinProfiles() {
		m.addProfile(name)
		if _, ok := agents.Lookup(name); ok {
			m.set(map[string]any{"profiles": map[string]any{name: map[string]any{"agent": name}}})
		}
	}
	return m
}

func (m *merged) set(values map[string]any) {
	if err := m.viper.MergeConfigMap(values); err != nil {
		panic(err) // a map of checked values always merges
	}
}

// addProfile gives a profile its defaults, once, beneath everything files say.
func (m *merged) addProfile(name string) {
	if !m.profiles[name] {
		m.profiles[name] = true
		m.set(map[string]any{"profiles": map[string]any{name: profileDefaults()}})
	}
}

// add merges one file's values over what is there.
func (m *merged) add(s *source, leaves []leaf) {
	tree := map[string]any{}
	for _, l := range leaves {
		if l.path[0] == "profiles" {
			m.addProfile(l.path[1])
		}
		put(tree, stored(l.path), l.value)
		m.origins[l.name()] = Origin{Layer: s.layer, File: s.path, Line: l.line}
	}
	// An empty [profiles.x] has no leaf but is a profile.
	if profiles, ok := s.values["profiles"].(map[string]any); ok {
		for _, name := range sortedKeys(profiles) {
			m.addProfile(name)
		}
	}
	m.set(tree)
}

func (m *merged) get(path []string) any { return m.viper.Get(join(stored(path))) }

// isSet reports whether a file gave the key.
func (m *merged) isSet(name string) bool { _, ok := m.origins[name]; return ok }

func put(tree map[string]any, path []string, value any) {
	for _, part := range path[:len(path)-1] {
		next, ok := tree[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[part] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = value
}

// stored is path as viper keeps it.
func stored(path []string) []string {
	if len(path) == 4 && path[0] == "profiles" && path[2] == "env" {
		return []string{path[0], path[1], path[2], hex.EncodeToString([]byte(path[3]))}
	}
	return path
}

// settings is the merged configuration as written, before expansion.
type settings struct {
	DefaultProfile string `mapstructure:"default_profile"`
	Storage        struct {
		DataRoot string `mapstructure:"data_root"`
	}
	Network struct {
		DefaultAllow []string `mapstructure:"default_allow"`
		DefaultDeny  []string `mapstructure:"default_deny"`
	}
	Escalation struct {
		Enabled     bool
		SocketDir   string `mapstructure:"socket_dir"`
		Expire      string
		AutoApprove []ruleEntry `mapstructure:"auto_approve"`
	}
	UI struct {
		Theme, Leader, Emulator string
		ScrollbackLines         int `mapstructure:"scrollback_lines"`
	}
	Keys     map[string]string
	Profiles map[string]profileSettings
}

type profileSettings struct {
	Agent, Image, Install, Credential, User string
	Command                                 []string
	PersistentDirs                          []string `mapstructure:"persistent_dirs"`
	Network                                 bool
	AllowEgress                             []string `mapstructure:"allow_egress"`
	DenyEgress                              []string `mapstructure:"deny_egress"`
	Env                                     map[string]string
	Volumes                                 []volumeEntry
	CACertificates                          string `mapstructure:"ca_certificates"`
	Escalation                              bool
	Sandbox                                 struct{ Directfs bool }
	Git                                     struct{ Mode string }
	Workspace                               Workspace
	Limits                                  struct {
		Processes uint32
		OpenFiles uint64 `mapstructure:"open_files"`
		Memory    uint64
		Tmp       uint64
	}
	Registry struct{ Insecure bool }
}

// settings decodes the merge. An error here is a mistake of ours: everything was
// checked before it was merged.
func (m *merged) settings() (settings, error) {
	var s settings
	strict := func(c *mapstructure.DecoderConfig) { c.WeaklyTypedInput, c.ErrorUnused = false, true }
	if err := m.viper.Unmarshal(&s, strict); err != nil {
		return s, fmt.Errorf("decode merged configuration: %w", err)
	}
	for name, p := range s.Profiles {
		env := map[string]string{}
		for k, v := range p.Env {
			plain, err := hex.DecodeString(k)
			if err != nil {
				return s, fmt.Errorf("decode variable name %q: %w", k, err)
			}
			env[string(plain)] = v
		}
		p.Env = env
		s.Profiles[name] = p
	}
	return s, nil
}
