package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"lazaret.dev/lazaret/internal/fault"
)

// maxRuntimeDir leaves room for <domain_hash>/<name> below it in a Unix socket's
// 107 bytes (unix(7)).
const maxRuntimeDir = 72

// RuntimeDir returns the private directory the sockets of live Domains are in,
// made if need be. It is the first of
//
//   - override, which is escalation.socket_dir, when set;
//   - $XDG_RUNTIME_DIR/lazaret, when XDG_RUNTIME_DIR names a private directory of
//     the user's own;
//   - /tmp/lazaret-<uid>.
//
// Whichever it is must be a directory, not a link to one, owned by uid and closed
// to everybody else: who can write there can pose as a coordinator. environ is
// the host environment.
func RuntimeDir(override string, environ []string, uid int) (string, error) {
	dir := runtimeDirName(override, environ, uid)
	if err := privateDir(dir, uid); err != nil {
		return "", &fault.Error{
			Kind: fault.Config, Message: "the runtime directory " + printable(dir) + " cannot be used", Err: err,
			Fix: fmt.Sprintf("remove it, or make it yours alone: chown %d %s && chmod 700 %s", uid, printable(dir), printable(dir)),
		}
	}
	return dir, nil
}

// RuntimeDir is the package's RuntimeDir for this configuration.
func (c *Config) RuntimeDir() (string, error) {
	var environ []string
	if v, ok := c.host.lookup("XDG_RUNTIME_DIR"); ok {
		environ = []string{"XDG_RUNTIME_DIR=" + v}
	}
	return RuntimeDir(c.Escalation.RuntimeDir, environ, c.host.uid)
}

func runtimeDirName(override string, environ []string, uid int) string {
	if override != "" {
		return filepath.Clean(override)
	}
	h := facts(Options{Environ: environ, UID: uid, PasswdHome: func() string { return "" }})
	if xdg := h.environ["XDG_RUNTIME_DIR"]; filepath.IsAbs(xdg) && ownedPrivate(xdg, uid) == nil {
		return filepath.Join(xdg, "lazaret")
	}
	return fmt.Sprintf("/tmp/lazaret-%d", uid)
}

func privateDir(dir string, uid int) error {
	if len(dir) > maxRuntimeDir {
		return fmt.Errorf("its path has %d bytes, and sockets below it leave room for %d", len(dir), maxRuntimeDir)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return ownedPrivate(dir, uid)
}

// ownedPrivate looks at dir itself, never at what a link there points to.
func ownedPrivate(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return errors.New("it is not a directory")
	case !ok || int(st.Uid) != uid:
		return fmt.Errorf("it belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may enter it (mode %04o)", info.Mode().Perm())
	}
	return nil
}
