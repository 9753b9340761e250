package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// hostFacts is what of the host a configuration is read against.
type hostFacts struct {
	uid       int
	home      string // canonical when it exists; "" when unknown
	environ   map[string]string
	dataHome  string // XDG base directories, absolute
	stateHome string
	userFile  string
	flagFile  string
}

func (h hostFacts) lookup(name string) (string, bool) {
	v, ok := h.environ[name]
	return v, ok
}

// facts reads the environment and, only when HOME is missing, the password file
// (S1 §3.2.1).
func facts(o Options) hostFacts {
	h := hostFacts{uid: o.UID, environ: map[string]string{}}
	for _, kv := range o.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			h.environ[name] = value
		}
	}
	h.home = h.environ["HOME"]
	if h.home == "" || !filepath.IsAbs(h.home) {
		h.home = o.passwdHome()
	}
	if h.home != "" {
		h.home = filepath.Clean(h.home)
	}
	h.dataHome = h.base("XDG_DATA_HOME", ".local/share")
	h.stateHome = h.base("XDG_STATE_HOME", ".local/state")
	if conf := h.base("XDG_CONFIG_HOME", ".config"); conf != "" {
		h.userFile = filepath.Join(conf, "lazaret", "config.toml")
	}
	return h
}

// base is one XDG base directory; a relative value counts as unset, as the XDG
// base directory specification asks.
func (h hostFacts) base(name, below string) string {
	if v := h.environ[name]; filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	if h.home == "" {
		return ""
	}
	return filepath.Join(h.home, below)
}

func (o Options) passwdHome() string {
	if o.PasswdHome != nil {
		return o.PasswdHome()
	}
	u, err := user.LookupId(strconv.Itoa(o.UID))
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return u.HomeDir
}

// canonical resolves every symbolic link of path. Where a tail of it does not
// exist yet, the part that does is resolved and the tail appended.
func canonical(path string) (string, error) {
	path = filepath.Clean(path)
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return resolved, nil
	}
	if !os.IsNotExist(err) {
		return "", fmt.Errorf("resolve %q: %w", path, err)
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return "", fmt.Errorf("resolve %q: a symbolic link on it leads nowhere", path)
	}
	parent, err := canonical(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
