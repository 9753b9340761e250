package anchor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// Trees are the host trees of one generation as detached mounts. Anchors[i] is the
// directory that holds both the upper and the work directory of Spec.Anchors[i]:
// overlayfs wants the two on one mount.
type Trees struct {
	Lower, Workspace, Store, GuestBinary, Runsc *os.File
	Anchors, Volumes, GitDirs                   []*os.File
}

// OpenTrees clones the mounts spec names. With a user namespace, which a coordinator
// that is root gives, the developer's own trees are id-mapped to it: what belongs to
// id n on disk belongs to id n of that namespace. The lower, the State Anchors and the
// workspace's storage are not: on disk they belong to the unprivileged range itself, so that nothing a guest
// stores there, set-user-id programs included, is root's on the host.
func OpenTrees(spec runtime.Spec, userNS *os.File) (_ *Trees, err error) {
	t := &Trees{}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	readOnly := uint64(unix.MOUNT_ATTR_RDONLY)
	single := []struct {
		to    **os.File
		path  string
		attrs uint64
		owner *os.File
	}{
		{&t.Lower, spec.Lower, readOnly, nil},
		{&t.Workspace, spec.Workspace, 0, userNS},
		{&t.Store, spec.Policy.Store, unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, nil},
		// Programs belong to whoever installed them and are only executed.
		{&t.GuestBinary, spec.GuestBinary, readOnly, nil},
		{&t.Runsc, spec.Runsc, readOnly, nil},
	}
	for _, s := range single {
		if *s.to, err = openTree(s.path, s.attrs, s.owner); err != nil {
			return nil, err
		}
	}
	for _, a := range spec.Anchors {
		dir, err := Home(a)
		if err != nil {
			return nil, err
		}
		tree, err := openTree(dir, 0, nil)
		if err != nil {
			return nil, err
		}
		t.Anchors = append(t.Anchors, tree)
	}
	for _, dir := range spec.Policy.GitDirs {
		tree, err := openTree(dir, 0, userNS)
		if err != nil {
			return nil, err
		}
		t.GitDirs = append(t.GitDirs, tree)
	}
	for _, v := range spec.Volumes {
		attrs := uint64(0)
		if v.ReadOnly {
			attrs = readOnly
		}
		tree, err := openTree(v.Host, attrs, userNS)
		if err != nil {
			return nil, err
		}
		t.Volumes = append(t.Volumes, tree)
	}
	return t, nil
}

// Home returns the directory that holds both the upper and the work directory of a.
func Home(a runtime.Anchor) (string, error) {
	dir := filepath.Dir(a.Upper)
	if dir != filepath.Dir(a.Work) || a.Upper == a.Work {
		return "", fmt.Errorf("state anchor %q: upper %q and work %q are not two directories side by side", a.Path, a.Upper, a.Work)
	}
	return dir, nil
}

func openTree(path string, attrs uint64, userNS *os.File) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Host, Message: fmt.Sprintf("cannot mount %q", path), Err: err,
			Fix: "check that the path exists and that you may enter every folder above it"}
	}
	f := os.NewFile(uintptr(fd), path)
	attr := unix.MountAttr{Attr_set: attrs}
	if userNS != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(userNS.Fd())
	}
	if attr.Attr_set == 0 {
		return f, nil
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		f.Close()
		fix := ""
		if userNS != nil && errors.Is(err, unix.EINVAL) {
			fix = "its file system cannot map ids; move it to ext4, xfs, btrfs or tmpfs, or run Lazaret as an ordinary user"
		}
		return nil, &fault.Error{Kind: fault.Host, Message: fmt.Sprintf("cannot set up the mount of %q", path), Fix: fix, Err: err}
	}
	return f, nil
}

// Files lists the trees in the order FromFiles takes them.
func (t *Trees) Files() []*os.File {
	return slices.Concat([]*os.File{t.Lower, t.Workspace, t.Store, t.GuestBinary, t.Runsc}, t.Anchors, t.Volumes, t.GitDirs)
}

// FromFiles is the inverse of Files for a generation of spec.
func FromFiles(spec runtime.Spec, files []*os.File) (*Trees, error) {
	const single = 5
	anchors, volumes, dirs := len(spec.Anchors), len(spec.Volumes), len(spec.Policy.GitDirs)
	if len(files) != single+anchors+volumes+dirs {
		return nil, fmt.Errorf("got %d trees, want %d", len(files), single+anchors+volumes+dirs)
	}
	more := files[single:]
	return &Trees{
		Lower: files[0], Workspace: files[1], Store: files[2], GuestBinary: files[3], Runsc: files[4],
		Anchors: more[:anchors], Volumes: more[anchors : anchors+volumes], GitDirs: more[anchors+volumes:],
	}, nil
}

// Close closes what is open of t.
func (t *Trees) Close() {
	for _, f := range t.Files() {
		if f != nil {
			f.Close()
		}
	}
}

// Attach mounts tree at target and closes it. The target is made first, as the kind
// of file the tree's root is.
func Attach(tree *os.File, target string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(tree.Fd()), &st); err != nil {
		return fmt.Errorf("look at tree %q: %w", tree.Name(), err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("make mount point: %w", err)
		}
	} else if err := touch(target); err != nil {
		return err
	}
	if err := unix.MoveMount(int(tree.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %q at %q: %w", tree.Name(), target, err)
	}
	return tree.Close()
}

func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make mount point: %w", err)
	}
	return f.Close()
}
