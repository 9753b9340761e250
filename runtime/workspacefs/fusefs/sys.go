package fusefs

import (
	"errors"
	"slices"
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Everything here works on descriptors and single names; beneath takes a whole
// path, below a root, and follows nothing.

const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// stat reads the attributes of an open file, O_PATH included.
func stat(fd int) (*unix.Statx_t, error) {
	st := &unix.Statx_t{}
	return st, again(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_SYNC_AS_STAT, statMask, st)
	})
}

// statAt reads the attributes of a name in a directory.
func statAt(dir int, name string) (*unix.Statx_t, error) {
	st := &unix.Statx_t{}
	return st, again(func() error {
		return unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, statMask, st)
	})
}

// openPath opens a name of a directory as a place, whatever it is.
func openPath(dir int, name string, flags int) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
		return err
	})
	return fd, err
}

// beneath opens a path below root as a place. No component may be a link.
func beneath(root int, path string, flags uint64) (fd int, err error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range 64 { // EAGAIN: somebody renamed while the kernel looked
		err = again(func() error {
			fd, err = unix.Openat2(root, path, &how)
			return err
		})
		if !is(err, unix.EAGAIN) {
			break
		}
	}
	if is(err, unix.ELOOP) {
		err = unix.ESTALE // a link where a directory was
	}
	return fd, err
}

// reopen opens what an O_PATH descriptor is a place of. The caller has made sure
// that it is a regular file or a directory: opening anything else has effects.
func (fs *FS) reopen(place, flags int) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(fs.self, strconv.Itoa(place), flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		return err
	})
	return fd, err
}

// again repeats f while signals interrupt it.
func again(f func() error) error {
	for {
		if err := f(); !is(err, unix.EINTR) {
			return err
		}
	}
}

// is says that err is one of the given.
func is(err error, errnos ...unix.Errno) bool {
	var errno unix.Errno
	return errors.As(err, &errno) && slices.Contains(errnos, errno)
}

// status is the answer to the kernel for err.
func status(err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return fuse.Status(errno)
	}
	return fuse.EIO
}

// kindOf translates a file's type for a router.
func kindOf(mode uint32) route.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return route.File
	case unix.S_IFDIR:
		return route.Dir
	case unix.S_IFLNK:
		return route.Symlink
	}
	return route.Other
}

func device(st *unix.Statx_t) uint64 { return unix.Mkdev(st.Dev_major, st.Dev_minor) }
