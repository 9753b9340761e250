package config

import "net/netip"

// Config is the effective configuration: merged from its layers, expanded,
// validated. Every path is absolute; every value is in its final form, except
// that what a profile may mount is decided by Profile.
type Config struct {
	Storage        Storage
	Network        Network
	Escalation     Escalation
	UI             UI
	Keys           map[string]string // action name → key, "" unbinds
	DefaultProfile string
	Profiles       map[string]Profile

	// Workspace is the canonical path of the Agent Workspace it was loaded for.
	Workspace string
	// Home is where the workspace's file was read: Workspace itself, but for a session
	// in a work tree of its own the folder Lazaret was started in.
	Home string
	// Origins says where each key's value came from, by its dotted name. A key
	// that is not in it has Lazaret's own default.
	Origins map[string]Origin
	// Files are the configuration files that were read, lowest first.
	Files []File
	// Notices are sentences for the developer that refuse nothing.
	Notices []string

	host    hostFacts
	options Options
}

// Layer names one of the places a value can come from.
type Layer string

// The layers, lowest first.
const (
	LayerDefault   Layer = "default"
	LayerRecipe    Layer = "recipe" // of the profile's agent
	LayerUser      Layer = "user"
	LayerWorkspace Layer = "workspace"
	LayerFlag      Layer = "--config"
)

// Origin is where a value came from. File and Line are empty for the layers that
// are not files.
type Origin struct {
	Layer Layer
	File  string
	Line  int
}

// File is one configuration file that was read.
type File struct {
	Layer   Layer
	Path    string
	SHA256  string // of exactly the bytes that were parsed
	Trusted bool   // a workspace file whose bytes the developer trusted
}

// Storage says where Lazaret keeps what outlives a generation.
type Storage struct {
	DataRoot string // the Storage Root
}

// Network is the policy every Domain starts from.
type Network struct {
	DefaultAllow, DefaultDeny []netip.Prefix
}

// Escalation configures Host Escalation.
type Escalation struct {
	Enabled    bool
	RuntimeDir string // socket_dir: overrides the runtime directory when set
	// ExpireSeconds is how long a request waits before it counts as denied.
	ExpireSeconds int
	// AutoApprove are the vectors the developer allows without being asked.
	AutoApprove []Rule
}

// Rule is one auto-approved argument vector.
type Rule struct {
	Argv []string
	// ExtraArgs makes it a prefix: anything may follow (S1 §5.2.1).
	ExtraArgs bool
}

// UI configures the dashboard.
type UI struct {
	Theme           string // dark, light, terminal-16
	Leader          string // key chord, for example "ctrl+g"
	Emulator        string // vt10x
	ScrollbackLines int
}

// Profile is one Agent Profile.
type Profile struct {
	Name           string
	Agent          string   // a built-in agent recipe, or empty
	Image          string   // "builtin", "oci:DIR", "docker-archive:FILE", or a registry reference
	Command        []string // what a session runs
	PersistentDirs []string
	AllowEgress    []netip.Prefix
	DenyEgress     []netip.Prefix
	NetworkEnabled bool
	Env            []EnvVar
	EnvUnset       []string // names asked for by env:NAME that the host does not have
	Volumes        []Volume
	User           string // "root", a name of the image, or uid[:gid]
	Directfs       bool
	CACertificates string // "host", "image", or an absolute host path
	Install        string // shell text run once into the State Anchor, as guest root
	Credential     string // guest path of the one credentials file carried between Domains
	Escalation     bool
	GitMode        string // GitShared or GitWorktree
	Workspace      Workspace
	Limits         Limits
	Registry       Registry
}

// The values of a profile's git.mode.
const (
	GitShared   = "shared"   // sessions work in the workspace itself
	GitWorktree = "worktree" // each session works in a linked work tree of its own
)

// Workspace says what the workspace file system keeps from the sandbox.
type Workspace struct {
	// Ignored is "domain" (paths Git ignores are the Domain's own) or "shared".
	Ignored string
	// Masks are patterns of names of directories that host programs run things from;
	// Secrets of files that are not the agent's.
	Masks, Secrets []string
}

// EnvVar is one variable of the sandbox's environment, already resolved.
type EnvVar struct {
	Name, Value string
	FromHost    bool // forwarded by env:NAME; its value is never printed
	HostName    string
}

// Volume is one host path shown inside.
type Volume struct {
	Host, Guest string
	ReadOnly    bool
}

// Limits bound a Domain; 0 means none of ours.
type Limits struct {
	Processes   uint32
	OpenFiles   uint64
	MemoryBytes uint64
	TmpBytes    uint64
}

// Registry says how an image reference may be fetched.
type Registry struct {
	Insecure bool // plain http allowed
}
