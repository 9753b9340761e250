package config

import "lazaret.dev/lazaret/internal/agents"

// builtinProfiles are there without any file, so that `lazaret run claude` works
// on a fresh machine.
func builtinProfiles() []string {
	out := []string{"shell"}
	for _, name := range agents.Names() {
		if a, _ := agents.Lookup(name); !a.Untested {
			out = append(out, name)
		}
	}
	return out
}

// defaultProcesses bounds a session's tasks where nothing else is said: without a
// bound, one line of shell takes the whole sandbox and much of the host.
const defaultProcesses = 1024

// defaultMasks are where editors keep tasks, launch configurations and settings they
// act on; defaultSecrets what usually holds a key or a password.
var (
	defaultMasks   = []string{".vscode", ".idea", ".fleet", ".zed", ".vs"}
	defaultSecrets = []string{".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", ".git-credentials"}
)

var shellCommand = []string{"bash", "-l"}

func globalDefaults() map[string]any {
	return map[string]any{
		"default_profile": "shell",
		"storage":         map[string]any{"data_root": ""},
		"network": map[string]any{
			"default_allow": []string{},
			"default_deny":  []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"},
		},
		"escalation": map[string]any{"enabled": true, "socket_dir": "", "expire": "10m", "auto_approve": []ruleEntry{}},
		"ui":         map[string]any{"theme": "dark", "leader": "ctrl+g", "emulator": "vt10x", "scrollback_lines": int64(10_000)},
	}
}

func profileDefaults() map[string]any {
	return map[string]any{
		"agent":           "",
		"image":           "builtin",
		"persistent_dirs": []string{"/usr", "/etc", "/opt", "/var", "/root", "/home"},
		"network":         true,
		"allow_egress":    []string{},
		"deny_egress":     []string{},
		"volumes":         []volumeEntry{},
		"user":            "root",
		"ca_certificates": "host",
		"escalation":      true,
		"sandbox":         map[string]any{"directfs": true},
		"git":             map[string]any{"mode": GitShared},
		"workspace":       map[string]any{"ignored": "domain", "masks": defaultMasks, "secrets": defaultSecrets},
		"limits":          map[string]any{"processes": int64(defaultProcesses), "open_files": int64(0), "memory": int64(0), "tmp": int64(0)},
		"registry":        map[string]any{"insecure": false},
	}
}
