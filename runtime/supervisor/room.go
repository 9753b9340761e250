package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/anchor"
)

// The Supervisor's own root file system. It is a tmpfs: the generation ends, and
// nothing of it is left anywhere. No host path appears in it, so neither the length
// of one nor what a directory above it allows matters, and a sandbox process that
// escaped would find itself among these.
const (
	roomRunsc     = "/bin/runsc"
	roomState     = "/state" // runsc's
	roomBundle    = "/bundle"
	roomLayer     = "/layer"
	roomLower     = "/lower"
	roomScratch   = "/scratch"
	roomMerged    = "/merged"
	roomWorkspace = "/workspace" // FUSE
	roomGit       = "/git"       // FUSE; its directories are shown in the workspace
	roomStore     = "/store"     // Domain storage of the workspace
	roomBin       = "/control/bin"
	roomSecrets   = "/control/credential"
	roomFiles     = "/control/files"
	roomMailbox   = "/mailbox"

	guestBinaryName = "lazaret-escalate"
)

func roomAnchor(i int) string { return "/anchors/" + strconv.Itoa(i) }
func roomVolume(i int) string { return "/volumes/" + strconv.Itoa(i) }

// A git directory outside the workspace has a connection of its own, at roomOutside,
// and is shown to the sandbox from roomGitDir.
func roomOutside(i int) string { return "/outside/" + strconv.Itoa(i) }
func roomGitDir(i int) string  { return "/gitdirs/" + strconv.Itoa(i) }

// roomSize bounds the room's own tmpfs: configuration, the guest layer and runsc's
// state. What the guest writes goes elsewhere.
const roomSize = "size=128m,nr_inodes=32k,mode=0755"

// stage is where the room is built before it becomes the root. Every system has it,
// and anyone may enter it.
const stage = "/tmp"

// enterRoom builds the room from trees and makes it this process's root. The old
// root is gone afterwards. The workspace and the git directories that belong to it are
// not in it: only the workspace file system's daemon has them, as descriptors.
func enterRoom(trees *anchor.Trees) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	sys, err := cloneReadOnly("/sys")
	if err != nil {
		return err
	}
	devices, err := cloneDevices()
	if err != nil {
		return err
	}
	if err := unix.Mount("lazaret", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, roomSize); err != nil {
		return fmt.Errorf("mount the supervisor's root: %w", err)
	}
	dirs := []string{"/proc", "/tmp", roomState, roomBundle, roomLayer, roomScratch, roomMerged,
		roomBin, roomSecrets, roomFiles, roomMailbox, roomWorkspace, roomGit}
	for i := range trees.GitDirs {
		dirs = append(dirs, roomOutside(i), roomGitDir(i))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(stage+dir, 0o755); err != nil {
			return fmt.Errorf("make the supervisor's root: %w", err)
		}
	}
	// Its own: the PID namespace is new, and runsc finds its processes here.
	if err := unix.Mount("proc", stage+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount proc of the new process namespace: %w", err)
	}
	if err := anchor.Attach(sys, stage+"/sys"); err != nil {
		return err
	}
	for name, device := range devices {
		if err := anchor.Attach(device, stage+"/dev/"+name); err != nil {
			return err
		}
	}
	if err := attachTrees(trees); err != nil {
		return err
	}
	return pivot()
}

func attachTrees(t *anchor.Trees) error {
	type place struct {
		tree *os.File
		at   string
	}
	places := []place{
		{t.Lower, roomLower}, {t.Store, roomStore},
		{t.GuestBinary, filepath.Join(roomBin, guestBinaryName)}, {t.Runsc, roomRunsc},
	}
	for i, tree := range t.Anchors {
		places = append(places, place{tree, roomAnchor(i)})
	}
	for i, tree := range t.Volumes {
		places = append(places, place{tree, roomVolume(i)})
	}
	for _, p := range places {
		if err := anchor.Attach(p.tree, stage+p.at); err != nil {
			return err
		}
	}
	return nil
}

// cloneDevices clones the device nodes runsc and Go programs open.
func cloneDevices() (map[string]*os.File, error) {
	devices := map[string]*os.File{}
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("clone device %q: %w", name, err)
		}
		devices[name] = os.NewFile(uintptr(fd), name)
	}
	return devices, nil
}

func cloneReadOnly(path string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("clone %q: %w", path, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make the clone of %q read-only: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// pivot makes the stage the root of every thread and drops the old one.
func pivot() error {
	if err := os.Chdir(stage); err != nil {
		return fmt.Errorf("enter the supervisor's root: %w", err)
	}
	// The old root is stacked on the new one and unmounted from there, so that it
	// needs no directory of its own (pivot_root(2)).
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("drop the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	return nil
}

// buildGuestRoot fills the guest layer and mounts the guest's root.
func buildGuestRoot(spec runtime.Spec, points []string) error {
	layer, err := anchor.NewLayer(roomLayer, roomLower)
	if err != nil {
		return err
	}
	defer func() { _ = layer.Close() }()
	for _, f := range append(ownLayer(), spec.Layer...) {
		if err := layer.Add(f); err != nil {
			return err
		}
	}
	for _, p := range points {
		if err := layer.AddPoint(p); err != nil {
			return err
		}
	}
	if err := layer.AddAnchorPoints(spec.Anchors); err != nil {
		return err
	}
	options := "mode=0755"
	if spec.Limits.TmpBytes > 0 {
		options += ",size=" + strconv.FormatUint(spec.Limits.TmpBytes, 10)
	}
	if err := unix.Mount("scratch", roomScratch, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount scratch space: %w", err)
	}
	stack := anchor.Stack{Layer: roomLayer, Lower: roomLower, Scratch: roomScratch, Merged: roomMerged}
	for i := range spec.Anchors {
		stack.Homes = append(stack.Homes, roomAnchor(i))
	}
	return stack.Mount(spec.Anchors)
}

// ownLayer is what every sandbox has: the client by name in the usual PATH.
func ownLayer() []runtime.GuestFile {
	return []runtime.GuestFile{{
		Path: "/usr/local/bin/" + guestBinaryName,
		Link: "/run/lazaret/bin/" + guestBinaryName,
	}}
}
