package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Profile returns the profile called name, ready for a launch: its volumes are
// canonical and allowed, and no mounted source holds a configuration file or
// Lazaret's own state. It refuses with a *fault.Error of kind Config.
func (c *Config) Profile(name string) (Profile, error) {
	p, ok := c.Profiles[name]
	if !ok {
		fix := didYouMean(name, profileNames(c.Profiles))
		if profileName(name) != nil {
			fix = hintOf(profileName(name))
		}
		return Profile{}, refuse(fix, "there is no profile %q", name)
	}
	guard, err := c.newGuard(name)
	if err != nil {
		return Profile{}, err
	}
	if err := guard.workspace(); err != nil {
		return Profile{}, err
	}
	volumes := make([]Volume, len(p.Volumes))
	for i, v := range p.Volumes {
		if volumes[i], err = guard.volume(v); err != nil {
			return Profile{}, err
		}
	}
	p.Volumes = volumes
	return p, nil
}

// WorktreesFolder is the folder of the Storage Root that holds the sessions' work trees.
const WorktreesFolder = "worktrees"

// place is a host path that must not be shown inside, and the reason.
type place struct{ path, why string }

// guard judges what one profile may mount. All its paths are canonical.
type guard struct {
	origin    string // where the profile's volumes are written, for messages
	ws        string
	source    string // what ws is a work tree of, or ws
	home      string
	dataRoot  string
	own       []string // folders of the Storage Root the profile may mount
	files     []place  // configuration and state of Lazaret
	forbidden []place
}

func (c *Config) newGuard(profile string) (*guard, error) {
	g := &guard{}
	var err error
	resolve := func(path string) string {
		if path == "" || err != nil {
			return ""
		}
		var out string
		out, err = canonical(path)
		return out
	}
	g.ws = resolve(c.Workspace)
	g.source = resolve(c.Home)
	g.home = resolve(c.host.home)
	g.dataRoot = resolve(c.Storage.DataRoot)
	b := &builder{config: c}
	t := b.tokens(profile)
	if g.dataRoot != "" {
		g.own = []string{resolve(t["profile_dir"]), resolve(filepath.Join(t["domain_dir"], "volumes"))}
	}
	// The name counts as well as what it leads to: whoever can replace a link on
	// the way decides where the way leads.
	for _, f := range c.protected() {
		g.files = append(g.files, place{resolve(f.path), f.why}, place{f.path, f.why})
	}
	if root := c.Storage.DataRoot; root != g.dataRoot {
		g.files = append(g.files, place{root, "a link to the Storage Root"})
	}
	for _, f := range c.forbidden() {
		g.forbidden = append(g.forbidden, place{resolve(f.path), f.why}, place{f.path, f.why})
	}
	if o, ok := c.Origins["profiles."+profile+".volumes"]; ok && o.File != "" {
		g.origin = fmt.Sprintf("%s:%d: ", printable(o.File), o.Line)
	}
	if err != nil {
		return nil, refuse("", "%s", err.Error())
	}
	return g, nil
}

// protected are the files whose writer decides what Lazaret does. Their places
// count even while they do not exist: an agent that could create the user's
// configuration would own the host.
func (c *Config) protected() []place {
	var out []place
	if c.host.userFile != "" {
		out = append(out, place{c.host.userFile, "your configuration file"})
	}
	if c.host.flagFile != "" {
		out = append(out, place{c.host.flagFile, "the configuration file named by --config"})
	}
	if c.host.stateHome != "" {
		out = append(out, place{filepath.Join(c.host.stateHome, "lazaret"), "Lazaret's records of trust"})
	}
	return out
}

// forbidden are places no volume may overlap.
func (c *Config) forbidden() []place {
	out := []place{
		{"/proc", "the kernel's files"}, {"/sys", "the kernel's files"}, {"/dev", "the host's devices"},
		{"/run", "runtime directories and their sockets"}, {"/var/run", "runtime directories and their sockets"},
		{fmt.Sprintf("/tmp/lazaret-%d", c.host.uid), "Lazaret's runtime directory"},
	}
	if c.Escalation.RuntimeDir != "" {
		out = append(out, place{c.Escalation.RuntimeDir, "Lazaret's runtime directory"})
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "WAYLAND_DISPLAY"} {
		v, _ := c.host.lookup(name)
		if _, after, ok := strings.Cut(v, "unix:path="); ok {
			v, _, _ = strings.Cut(after, ",")
		}
		v = strings.TrimPrefix(v, "unix://")
		if filepath.IsAbs(v) {
			out = append(out, place{filepath.Clean(v), "named by " + name})
		}
	}
	if c.host.home != "" {
		for _, d := range []string{".gnupg", ".ssh/agent", ".docker/run", ".docker/desktop", ".colima", ".rd"} {
			out = append(out, place{filepath.Join(c.host.home, d), "agent or engine sockets"})
		}
	}
	return out
}

func (g *guard) refuse(fix, format string, args ...any) error {
	return refuse(fix, "%s", g.origin+fmt.Sprintf(format, args...))
}

// workspace refuses to show a workspace that holds what decides over Lazaret.
// The workspace's own lazaret.toml is hidden from the sandbox, and grants nothing
// without trust.
func (g *guard) workspace() error {
	if g.ws == "" {
		return nil
	}
	for _, f := range g.files {
		if f.path != "" && under(f.path, g.ws) {
			return refuse("work in a folder below it, or move the file", "the workspace %q holds %s, %q: the sandbox could write it", g.ws, f.why, f.path)
		}
	}
	if g.dataRoot != "" && overlap(g.ws, g.dataRoot) && !g.ownWorktree() {
		return refuse("work elsewhere, or set storage.data_root to a place outside", "the workspace %q overlaps the Storage Root %q", g.ws, g.dataRoot)
	}
	return nil
}

// ownWorktree says whether the workspace is a work tree that Lazaret made: exactly
// <data root>/worktrees/<hash>/<name>, for a workspace that lies elsewhere.
func (g *guard) ownWorktree() bool {
	return g.ws != g.source && !overlap(g.source, g.dataRoot) && g.ws == filepath.Join(
		g.dataRoot, WorktreesFolder, filepath.Base(filepath.Dir(g.ws)), filepath.Base(g.ws))
}

// volume resolves one volume and judges where it really leads.
func (g *guard) volume(v Volume) (Volume, error) {
	host, err := filepath.EvalSymlinks(v.Host)
	if err != nil {
		return v, g.refuse("create it, or correct the path", "the volume %q cannot be used: %v", v.Host, rootCause(err))
	}
	info, err := os.Lstat(host)
	if err != nil {
		return v, g.refuse("create it, or correct the path", "the volume %q cannot be used: %v", v.Host, rootCause(err))
	}
	shown := fmt.Sprintf("%q", v.Host)
	if host != v.Host {
		shown = fmt.Sprintf("%q (which is %q)", v.Host, host)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return v, g.refuse("host sockets, devices and pipes stay outside", "the volume %s is not a directory or a regular file", shown)
	}
	if message, fix := g.judge(host); message != "" {
		return v, g.refuse(fix, "the volume %s %s", shown, message)
	}
	if socket := socketIn(host, info); socket != "" {
		return v, g.refuse("mount a folder without sockets", "the volume %s holds the socket %q", shown, socket)
	}
	v.Host = host
	return v, nil
}

// judge says what is wrong with showing the canonical path host, and what to do.
func (g *guard) judge(host string) (message, fix string) {
	const below = "name a folder below it"
	switch {
	case host == "/":
		return "is the whole host", below
	case g.home != "" && under(g.home, host):
		return "holds your home directory", below
	case g.ws != "" && overlap(host, g.ws), g.source != "" && overlap(host, g.source):
		return "overlaps the workspace, which is inside already", "leave it out"
	}
	for _, f := range g.files {
		if f.path != "" && overlap(f.path, host) {
			return fmt.Sprintf("holds %s, %q: the sandbox could write it", f.why, f.path), "mount a folder that does not hold it"
		}
	}
	for _, f := range g.forbidden {
		if f.path != "" && overlap(f.path, host) {
			return fmt.Sprintf("overlaps %q: %s", f.path, f.why), "these stay outside the sandbox"
		}
	}
	if g.dataRoot != "" && overlap(host, g.dataRoot) {
		for _, own := range g.own {
			if host != own && under(host, own) && !strings.HasPrefix(filepath.Base(firstBelow(host, own)), "credential") {
				return "", ""
			}
		}
		return "is part of the Storage Root", "below it, only folders in {profile_dir} and in {domain_dir}/volumes may be mounted"
	}
	return "", ""
}

// firstBelow returns the child of dir that path is or lies in.
func firstBelow(path, dir string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, dir+"/"), "/")
	return filepath.Join(dir, name)
}

// socketIn returns a socket directly inside host, if there is one. It is a hint
// for the developer; what keeps host sockets out is runsc's own refusal.
func socketIn(host string, info os.FileInfo) string {
	if !info.IsDir() {
		return ""
	}
	d, err := os.Open(host)
	if err != nil {
		return ""
	}
	defer d.Close()
	const look = 4096
	entries, _ := d.ReadDir(look)
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 {
			return filepath.Join(host, e.Name())
		}
	}
	return ""
}

func rootCause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Check is every check a launch of any profile would make.
func (c *Config) Check() []error {
	var out []error
	for _, name := range profileNames(c.Profiles) {
		if _, err := c.Profile(name); err != nil {
			out = append(out, fmt.Errorf("profile %q: %w", name, err))
		}
	}
	return out
}
