package runtime

import (
	"net/netip"

	"lazaret.dev/lazaret/internal/domain"
)

// GuestGitExcludes is where the layer has Git's global ignore rules for the sandbox;
// Git inside is told of it whether or not the file is there (gitignore(5)).
const GuestGitExcludes = "/etc/lazaret/git-excludes"

// Mode says how guest ids map to host ids.
type Mode string

// The three modes. Each changes what is on disk, so each has its own lowers.
const (
	// ModeSubordinate maps guest root to the developer and 1…65535 to the
	// developer's subordinate range (subuid(5)).
	ModeSubordinate Mode = "subordinate"
	// ModeSingle maps guest root to the developer and nothing else.
	ModeSingle Mode = "single"
	// ModeRoot is Lazaret started by root: guest 0…65535 map to an unprivileged
	// range that overlaps no subordinate entry, and mounts are id-mapped.
	ModeRoot Mode = "root"
)

// IDRange is a run of Count host ids starting at Host.
type IDRange struct {
	Host  uint32 `cbor:"1,keyasint"`
	Count uint32 `cbor:"2,keyasint"`
}

// IDs is how guest ids map to host ids. In ModeSubordinate guest 0 is the
// caller and guest 1… are UIDs and GIDs; in ModeRoot the ranges start at guest 0;
// in ModeSingle they are empty.
type IDs struct {
	Mode Mode    `cbor:"1,keyasint"`
	UIDs IDRange `cbor:"2,keyasint"`
	GIDs IDRange `cbor:"3,keyasint"`
}

// Spec is everything one Domain generation is built from. It is plain data, goes
// to the Runtime Supervisor as one canonical record, and holds no secret.
// Every host path is absolute and canonical.
type Spec struct {
	Domain     domain.ID         `cbor:"1,keyasint"`
	Generation domain.Generation `cbor:"2,keyasint"`
	IDs        IDs               `cbor:"3,keyasint"`

	// Dir is the generation's own host-private directory (0700): bundle, runsc
	// state, mount points. It is removed when the generation ends.
	Dir string `cbor:"4,keyasint"`
	// Lower is the root directory of the prepared lower, read-only.
	Lower string `cbor:"5,keyasint"`
	// Anchors are the State Anchors: guest paths whose writes persist.
	Anchors []Anchor `cbor:"6,keyasint"`
	// Workspace is the Agent Workspace on the host; WorkspaceGuest is where it
	// is mounted inside, for example "/workspace".
	Workspace      string   `cbor:"7,keyasint"`
	WorkspaceGuest string   `cbor:"8,keyasint"`
	Volumes        []Volume `cbor:"9,keyasint"`

	Network  Network     `cbor:"10,keyasint"`
	Hostname string      `cbor:"11,keyasint"`
	User     User        `cbor:"12,keyasint"`
	Env      []string    `cbor:"13,keyasint"` // "NAME=value", sorted by name
	Layer    []GuestFile `cbor:"14,keyasint"` // shown in the guest beneath the State Anchors
	Limits   Limits      `cbor:"15,keyasint"`

	// GuestBinary is the static lazaret-escalate binary on the host, which is
	// also the guest init and the session wrapper. Runsc is the gVisor runtime.
	GuestBinary string `cbor:"16,keyasint"`
	Runsc       string `cbor:"17,keyasint"`
	// Directfs lets the sentry open host files itself; off is slower and harder.
	Directfs bool `cbor:"18,keyasint"`
	// Secrets are files of the generation shown read-only under
	// /run/lazaret/credential inside: the sandbox's request-signing key and what
	// it needs to verify results. They are never written to a disk.
	Secrets []GuestFile     `cbor:"19,keyasint"`
	Policy  WorkspacePolicy `cbor:"20,keyasint"`
}

// Ignored says where the paths that Git ignores live.
type Ignored string

// The two places.
const (
	// IgnoredDomain keeps them in Domain storage: the host's are not shown, and what
	// the sandbox makes never runs on the host.
	IgnoredDomain Ignored = "domain"
	// IgnoredShared shares them like any other file.
	IgnoredShared Ignored = "shared"
)

// WorkspacePolicy is what the workspace file system is told besides what it finds in
// the workspace itself.
type WorkspacePolicy struct {
	// Store is a host directory in the Domain Root for what the sandbox keeps of the
	// workspace apart from the host's files. The launcher makes it.
	Store   string  `cbor:"1,keyasint"`
	Ignored Ignored `cbor:"2,keyasint"` // "" is IgnoredDomain
	// Masks and Secrets are patterns of one name each, in the notation of path.Match:
	// directories that are empty inside, and untracked files that are.
	Masks   []string `cbor:"3,keyasint"`
	Secrets []string `cbor:"4,keyasint"`
	// GlobalExcludes is the content of the developer's own ignore file (gitignore(5)).
	GlobalExcludes []byte `cbor:"5,keyasint"`
	// GitDirs are the host directories outside the workspace that hold the repository
	// of a linked worktree. Each is shown inside under the path it has on the host.
	GitDirs []string `cbor:"6,keyasint"`
}

// Anchor is one State Anchor: an overlay of Upper over the prepared lower at
// Path, with Work as overlayfs's work directory on the same file system.
type Anchor struct {
	Path  string `cbor:"1,keyasint"`
	Upper string `cbor:"2,keyasint"`
	Work  string `cbor:"3,keyasint"`
}

// Volume is one configured host path shown inside.
type Volume struct {
	Host     string `cbor:"1,keyasint"`
	Guest    string `cbor:"2,keyasint"`
	ReadOnly bool   `cbor:"3,keyasint"`
}

// User is whom commands run as inside.
type User struct {
	UID  uint32 `cbor:"1,keyasint"`
	GID  uint32 `cbor:"2,keyasint"`
	Home string `cbor:"3,keyasint"`
}

// GuestFile is one file Lazaret supplies. Path is absolute in the guest; Link,
// when not empty, makes it a symbolic link instead of a file.
type GuestFile struct {
	Path string `cbor:"1,keyasint"`
	Mode uint32 `cbor:"2,keyasint"` // permission bits
	Data []byte `cbor:"3,keyasint"`
	Link string `cbor:"4,keyasint"`
}

// Network is the derived network policy: which IPv4 destinations are denied
// and which are allowed again. The longest prefix wins; at equal length denial wins.
type Network struct {
	Enabled bool           `cbor:"1,keyasint"`
	Allow   []netip.Prefix `cbor:"2,keyasint"`
	Deny    []netip.Prefix `cbor:"3,keyasint"`
}

// Limits bound what the sandbox may use; 0 means no limit of ours.
type Limits struct {
	Processes   uint32 `cbor:"1,keyasint"`
	OpenFiles   uint64 `cbor:"2,keyasint"`
	MemoryBytes uint64 `cbor:"3,keyasint"`
	// TmpBytes caps each tmpfs of the sandbox (/tmp, /dev/shm, /run).
	TmpBytes uint64 `cbor:"4,keyasint"`
}
