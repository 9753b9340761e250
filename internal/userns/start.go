package userns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
)

// lifetimeVariable tells the child which descriptor is its lifetime, and with
// awaitsMaps behind the number that its maps are written when a byte comes there.
const (
	lifetimeVariable = "LAZARET_LIFETIME"
	awaitsMaps       = "+"
)

// mapTime bounds how long the helpers may take to write the maps.
const mapTime = 10 * time.Second

// Start starts spec in a new user namespace with the maps of ids, besides the
// other namespaces spec.Cloneflags names, and returns once the maps are in place.
// The child sees itself as root. One more descriptor follows spec.Files: the
// child's lifetime, which Enter takes.
func Start(spec proc.Spec, ids runtime.IDs) (*proc.Process, error) {
	lifetime, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a lifetime pipe: %w", err)
	}
	defer lifetime.Close()
	files := make([]*os.File, max(3, len(spec.Files)))
	copy(files, spec.Files)
	value := strconv.Itoa(len(files))
	if ids.Mode == runtime.ModeSubordinate {
		value += awaitsMaps
	}
	spec.Files = append(files, lifetime)
	spec.Env = append(append([]string(nil), spec.Env...), lifetimeVariable+"="+value)
	spec.Cloneflags |= unix.CLONE_NEWUSER

	p, err := start(spec, ids, hold)
	if err != nil {
		hold.Close()
		return nil, err
	}
	go func() {
		<-p.Done()
		hold.Close()
	}()
	return p, nil
}

func start(spec proc.Spec, ids runtime.IDs, hold *os.File) (*proc.Process, error) {
	switch ids.Mode {
	case runtime.ModeSubordinate:
		return startMapped(spec, ids, hold)
	case runtime.ModeSingle:
		spec.UIDMap = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		spec.GIDMap = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		return proc.Start(spec)
	case runtime.ModeRoot:
		if ids.UIDs.Host == 0 || ids.GIDs.Host == 0 {
			return nil, fmt.Errorf("start %q in a user namespace: the range begins at host id 0", spec.Path)
		}
		spec.UIDMap = []syscall.SysProcIDMap{{ContainerID: 0, HostID: int(ids.UIDs.Host), Size: int(ids.UIDs.Count)}}
		spec.GIDMap = []syscall.SysProcIDMap{{ContainerID: 0, HostID: int(ids.GIDs.Host), Size: int(ids.GIDs.Count)}}
		spec.Setgroups = true
		// Real root is not in the map; without this the child would be the overflow id.
		spec.Credential = &syscall.Credential{Uid: 0, Gid: 0}
		return proc.Start(spec)
	}
	return nil, fmt.Errorf("start %q in a user namespace: unknown id mode %q", spec.Path, ids.Mode)
}

// startMapped starts a child whose maps the helpers write while it starts; Enter
// waits for them. Until then it is nobody in its namespace, and an exec would take
// its capabilities: as ambient ones they survive.
func startMapped(spec proc.Spec, ids runtime.IDs, hold *os.File) (*proc.Process, error) {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		spec.AmbientCaps = append(spec.AmbientCaps, c)
	}
	p, err := proc.Start(spec)
	if err != nil {
		return nil, err
	}
	if err := writeMaps(p.PID(), ids); err != nil {
		_ = p.Signal(unix.SIGKILL)
		<-p.Done()
		return nil, err
	}
	if _, err := hold.Write([]byte{1}); err != nil {
		_ = p.Signal(unix.SIGKILL)
		<-p.Done()
		return nil, fmt.Errorf("release process %d into its user namespace: %w", p.PID(), err)
	}
	return p, nil
}

func writeMaps(pid int, ids runtime.IDs) error {
	ctx, cancel := context.WithTimeout(context.Background(), mapTime)
	defer cancel()
	gids := make(chan error, 1)
	go func() { gids <- writeMap(ctx, "newgidmap", pid, os.Getgid(), ids.GIDs) }()
	uids := writeMap(ctx, "newuidmap", pid, os.Getuid(), ids.UIDs)
	return errors.Join(uids, <-gids)
}

func writeMap(ctx context.Context, helper string, pid, self int, subordinate runtime.IDRange) error {
	path, err := proc.LookPath(helper)
	if err != nil {
		return &fault.Error{Kind: fault.Host, Message: "cannot map subordinate ids", Err: err,
			Fix: "install newuidmap and newgidmap (Debian, Ubuntu: apt install uidmap)"}
	}
	_, text, exit, err := proc.Output(ctx, proc.Spec{Path: path, Args: []string{helper, strconv.Itoa(pid),
		"0", strconv.Itoa(self), "1",
		"1", strconv.FormatUint(uint64(subordinate.Host), 10), strconv.FormatUint(uint64(subordinate.Count), 10)}})
	if err != nil {
		return err
	}
	if exit.Status() != 0 {
		return &fault.Error{Kind: fault.Host,
			Message: fmt.Sprintf("%s refused the map of process %d (%v): %s", helper, pid, exit, strings.TrimSpace(string(text))),
			Fix:     "check your entries in /etc/subuid and /etc/subgid, and that newuidmap and newgidmap are setuid root"}
	}
	return nil
}
