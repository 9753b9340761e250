package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// probeIDsOf are the ids the probes run with: one user is enough for all but one of
// them, and needs no helper.
func (m machine) probeIDsOf() runtime.IDs {
	if m.uid == 0 {
		r := runtime.IDRange{Host: rootRangeFirst, Count: idCount}
		return runtime.IDs{Mode: runtime.ModeRoot, UIDs: r, GIDs: r}
	}
	return runtime.IDs{Mode: runtime.ModeSingle}
}

func (m machine) userNamespaces(ctx context.Context, d distribution) Check {
	c := Check{Name: namespacesName, Status: OK, Detail: "made user, mount, PID, network, IPC and UTS namespaces"}
	err := probe(ctx, "namespaces", "", m.probeIDsOf())
	if err == nil {
		return c
	}
	if why := m.userNamespaceSettings(d); why.Status == Fail {
		return why
	}
	c.Status, c.Detail = Fail, words(err)
	switch {
	case m.restricted():
		// The profile is there and does not fit, or was not loaded.
		c.Fix = d.appArmorFix(programs())
	case errors.Is(err, unix.ENOSPC):
		c.Fix = d.sysctl("user.max_user_namespaces = 15000")
	default:
		c.Fix = "if this is a container, run Lazaret on its host; else look for what forbids user namespaces (seccomp, SELinux)"
	}
	return c
}

func (m machine) subordinateIDs(ctx context.Context, d distribution, storageRoot string, namespaces Status) Check {
	c := Check{Name: "subordinate ids", Status: OK}
	ids, notice, err := m.detectIDs(storageRoot)
	if err != nil {
		return Check{c.Name, Fail, words(err), fault.FixOf(err)}
	}
	switch ids.Mode {
	case runtime.ModeSingle:
		c.Status, c.Detail = Warn, notice
		taken, _ := m.taken() // an unreadable file shows when the command is run
		c.Fix = d.subordinateFix(m.userName(), taken)
		if _, err := m.look("newuidmap"); err != nil {
			c.Fix = d.install("uidmap") + "; then, if doctor still says so, " + c.Fix
		}
		return c
	case runtime.ModeRoot:
		c.Detail = fmt.Sprintf("sandboxes of root run as the unprivileged ids %d to %d", ids.UIDs.Host, ids.UIDs.Host+ids.UIDs.Count-1)
	default:
		c.Detail = fmt.Sprintf("%d from user id %d and group id %d, mapped by newuidmap and newgidmap", ids.UIDs.Count, ids.UIDs.Host, ids.GIDs.Host)
	}
	if namespaces == Fail {
		return c // it would only say that again
	}
	if err := probe(ctx, "ids", "", ids); err != nil {
		c.Status, c.Detail, c.Fix = Fail, words(err), fault.FixOf(err)
		if c.Fix == "" {
			c.Fix = d.install("uidmap")
			if d.apt {
				c.Fix = d.sudo + "apt-get install --reinstall uidmap"
			}
		}
	}
	return c
}

func (m machine) userName() string {
	if m.name != "" {
		return m.name
	}
	return fmt.Sprint(m.uid)
}

// probed is a check that is nothing but a probe. dir, when not empty, is where the
// probe gets a directory of its own.
func (m machine) probed(ctx context.Context, namespaces Check, name, what, dir, fix string) Check {
	if namespaces.Status == Fail {
		return Check{name, Warn, "not tried without user namespaces", ""}
	}
	if dir != "" {
		made, err := os.MkdirTemp(dir, ".lazaret-doctor-")
		if err != nil {
			return Check{name, Fail, words(err), fmt.Sprintf("make %s writable for you", dir)}
		}
		defer os.RemoveAll(made)
		if m.uid == 0 { // the probe runs as ids of the range
			if err := os.Chown(made, rootRangeFirst, rootRangeFirst); err != nil {
				return Check{name, Fail, words(err), ""}
			}
		}
		dir = made
	}
	if err := probe(ctx, what, dir, m.probeIDsOf()); err != nil {
		return Check{name, Fail, words(err), fix}
	}
	return Check{name, OK, probedDetail[what], ""}
}

var probedDetail = map[string]string{
	"overlay": "mounted one in a user namespace and wrote through it",
	"policy":  "installed its routes and its nftables chain beside a tap device",
	"fuse":    "mounted a FUSE file system in a user namespace",
	"tun":     "made a tap device in a network namespace",
}

// overlayPlace is where the overlay probe works: the Storage Root's own file system,
// which decides what can be mounted. A launch by root reaches a closed Storage Root
// through mounts it hands over; the probe, already unprivileged, cannot.
func (m machine) overlayPlace(storageRoot string) string {
	return m.probePlace(nearest(storageRoot))
}

// probePlace is want, or where a probe that is already unprivileged can get to.
func (m machine) probePlace(want string) string {
	if m.uid != 0 {
		return want
	}
	for _, place := range []string{want, os.TempDir(), "/tmp", "/var/tmp"} {
		if reachable(place) {
			return place
		}
	}
	return want
}

// reachable says whether others may pass through dir and all above it.
func reachable(dir string) bool {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

// nearest returns the nearest existing directory at or above path.
func nearest(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		up := filepath.Dir(path)
		if up == path {
			return path
		}
		path = up
	}
}
