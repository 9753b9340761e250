package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/link"
)

// Mounts in the workspace are placed by descriptors. Every name on the way there is
// the guest's or the daemon's, and none is followed out of the tree.

// within opens the directory name below root without following a link. crossing says
// whether another mount may be on the way.
func within(root *os.File, name []byte, crossing bool) (*os.File, error) {
	resolve := uint64(unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS)
	if !crossing {
		resolve |= unix.RESOLVE_NO_XDEV
	}
	if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 {
		return nil, fmt.Errorf("open %q below %s: no name", name, root.Name())
	}
	fd, err := unix.Openat2(int(root.Fd()), string(name), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve,
	})
	if err != nil {
		return nil, fmt.Errorf("open %q below %s: %w", name, root.Name(), err)
	}
	return os.NewFile(uintptr(fd), path.Join(root.Name(), string(name))), nil
}

func openPath(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// bindFile mounts the directory source on the directory target.
func bindFile(source, target *os.File) error {
	tree, err := unix.OpenTree(int(source.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("clone %q: %w", source.Name(), err)
	}
	defer unix.Close(tree)
	err = unix.MoveMount(tree, "", int(target.Fd()), "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("mount %q at %q: %w", source.Name(), target.Name(), err)
	}
	return nil
}

// placeGit shows a git directory of the host where it belongs, through the connection
// that answers opens. The daemon serves.
func (w *workspace) placeGit(g link.Git) error {
	at := roomGit
	if g.Outside > 0 {
		at = roomOutside(int(g.Outside) - 1)
	}
	root, err := openPath(at)
	if err != nil {
		return err
	}
	defer root.Close()
	source, err := within(root, g.Name, false)
	if err != nil {
		return err
	}
	defer source.Close()
	var target *os.File
	if g.Outside > 0 {
		target, err = openPath(roomGitDir(int(g.Outside) - 1))
	} else {
		target, err = openInWorkspace(g.Path, true)
	}
	if err != nil {
		return err
	}
	defer target.Close()
	for _, name := range g.Watch {
		w.keep(source, string(name))
	}
	return bindFile(source, target)
}

// keep keeps the directory of a file below root in use, so that the daemon watches it for
// as long as the sandbox lives. What is not there is not watched.
func (w *workspace) keep(root *os.File, name string) {
	dir, base := path.Split(name)
	f, err := within(root, []byte(path.Clean("./"+dir)), false)
	if err != nil {
		return
	}
	var st unix.Stat_t
	_ = unix.Fstatat(int(f.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW) // looking is what counts
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || len(w.kept) == maxKept {
		f.Close()
		return
	}
	w.kept = append(w.kept, f)
}

// keepRoot does so for the workspace itself, where a repository may appear.
func (w *workspace) keepRoot() error {
	root, err := openPath(roomWorkspace)
	if err != nil {
		return err
	}
	defer root.Close()
	w.keep(root, ".git")
	return nil
}

func openInWorkspace(name []byte, crossing bool) (*os.File, error) {
	root, err := openPath(roomWorkspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return within(root, name, crossing)
}

// openNew opens a directory of the workspace that is being made: until the guest's
// mkdir has returned, the kernel may still answer that there is none.
func openNew(name []byte) (*os.File, error) {
	const first, longest = time.Millisecond, 64 * time.Millisecond
	for wait := first; ; wait *= 2 {
		target, err := openInWorkspace(name, false)
		if !errors.Is(err, unix.ENOENT) || wait > longest {
			return target, err
		}
		time.Sleep(wait)
	}
}

// errForeign refuses to mount what is not Domain storage.
var errForeign = errors.New("it is not a directory of Domain storage")

// placeHeld mounts the directory held, which the daemon says belongs at name, there.
// Only directories of Domain storage can be, and only directly in the tree.
func (w *workspace) placeHeld(name []byte, held *os.File) error {
	id, err := mountID(int(held.Fd()))
	if err == nil && id != w.store {
		err = errForeign
	}
	if err != nil {
		return fmt.Errorf("mount at %q in the workspace: %w", name, err)
	}
	target, err := openNew(name)
	if errors.Is(err, unix.EXDEV) {
		return nil // it is mounted already
	}
	if err != nil {
		return err
	}
	defer target.Close()
	return bindFile(held, target)
}

// mountID returns the id of the mount fd lies on.
func mountID(fd int) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID|unix.STATX_TYPE, &st); err != nil {
		return 0, fmt.Errorf("look at a mount: %w", err)
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return 0, errors.New("look at a mount: the kernel does not name it")
	}
	return st.Mnt_id, nil
}

// share makes mounts that are made in target later appear in the sandbox's copy of it.
func share(target string) error {
	if err := unix.Mount("", target, "", unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share the mount at %q: %w", target, err)
	}
	return nil
}
