package watch

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
)

// Why a directory cannot be watched. Its Domain works all the same, with short
// cache times there.
var (
	// ErrLimit: as many directories as allowed are watched. Remove makes room.
	ErrLimit = errors.New("too many directories are watched")
	// ErrUnsupported: the file system gives its files no handles, or has no id.
	ErrUnsupported = errors.New("the file system gives no file handles")
	// ErrRemote: the file system changes without this kernel's doing.
	ErrRemote = errors.New("the file system may change elsewhere")
	// ErrDenied: the directory may not be read.
	ErrDenied = errors.New("the directory may not be read")
)

// reason names the sentinel of an errno of fanotify_mark(2) or name_to_handle_at(2);
// any other error is itself.
func reason(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		return ErrLimit
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EXDEV):
		return ErrUnsupported
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return ErrDenied
	}
	return err
}

// advice is what a person is told of a reason, once.
func advice(why error, marks int) *fault.Error {
	f := &fault.Error{Kind: fault.Workspace, Err: why,
		Message: "changes made on the host show after some seconds in part of the workspace"}
	switch {
	case errors.Is(why, ErrLimit):
		f.Fix = fmt.Sprintf("%d directories are watched; raise fs.fanotify.max_user_marks with sysctl, or end other Domains", marks)
	case errors.Is(why, ErrRemote), errors.Is(why, ErrUnsupported):
		f.Fix = "move the workspace to a local file system such as ext4, XFS or Btrfs"
	case errors.Is(why, ErrDenied):
		f.Fix = "let yourself read and enter every directory of the workspace"
	}
	return f
}

// unavailable explains an errno of fanotify_init(2).
func unavailable(err error) error {
	f := &fault.Error{Kind: fault.Host, Err: err, Message: "cannot watch the workspace: changes made on the host show after some seconds"}
	switch {
	case errors.Is(err, unix.EMFILE):
		f.Fix = "raise fs.fanotify.max_user_groups with sysctl, or end other Domains"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		f.Fix = "use Linux 5.13 or later, and allow fanotify_init where a container filters system calls"
	}
	return f
}
