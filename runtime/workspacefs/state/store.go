package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Names in Domain storage (docs/workspace.md).
const (
	Folder    = "workspace" // in the Domain Root
	heldName  = "held"
	asideName = "aside"
)

// Temporary begins the name of what Apply is writing. The workspace file system
// shows no such name to a sandbox and lets it make none.
const Temporary = route.Reserved

// Place is the two directories everything happens in. Both stay the caller's.
type Place struct {
	Store *os.File // Domain storage: <domain root>/workspace
	Tree  *os.File // the workspace
}

// OpenStore opens Domain storage below a Domain Root, which is the developer's own.
// Errors: fs.ErrNotExist when no sandbox of the Domain ever had any.
func OpenStore(domainRoot string) (*os.File, error) {
	fd, err := unix.Open(domainRoot+"/"+Folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open Domain storage: %w", err)
	}
	return os.NewFile(uintptr(fd), Folder), nil
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// fileFlags wait for nobody at a FIFO and make no terminal ours.
const fileFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// openBelow opens path, relative to dir, without following any link on the way and
// without leaving dir; "" is dir itself. A link gives ELOOP.
func openBelow(dir *os.File, path string, flags int) (*os.File, error) {
	if path == "" {
		path = "."
	}
	how := &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(int(dir.Fd()), path, how)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) { // EAGAIN: a rename raced with the walk
			continue
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

// statBelow looks at what stands at path without following a link there.
func statBelow(dir *os.File, path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	f, err := openBelow(dir, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if errors.Is(err, unix.ELOOP) { // the last name is a link, or one on the way
		parent, name := split(path)
		d, derr := openBelow(dir, parent, dirFlags)
		if derr != nil {
			return st, derr
		}
		defer d.Close()
		return st, unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return st, err
	}
	defer f.Close()
	return st, unix.Fstat(int(f.Fd()), &st)
}

func kindOf(st unix.Stat_t) uint32 { return st.Mode & unix.S_IFMT }

func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Bounds of a walk through Domain storage.
const (
	maxDepth  = 128 // a descriptor is open for each level
	maxInDir  = 1 << 20
	nameBatch = 1024
)

// names lists an open directory in the kernel's order. Errors: errTooMany.
func names(dir *os.File) ([]string, error) {
	var all []string
	for {
		batch, err := dir.Readdirnames(nameBatch)
		all = append(all, batch...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(all) > maxInDir {
			return nil, errTooMany
		}
	}
}

var errTooMany = fmt.Errorf("a directory has more than %d entries", maxInDir)
