package fusefs

import (
	"bytes"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Extended attributes are the user's only, of files and directories in the tree view.
// Others are security labels and access lists: the host's business.

func (v *view) attributed(id uint64, name string) (*node, error) {
	n, err := v.node(id)
	if err != nil {
		return nil, err
	}
	if v.kind == Git || n.key.backend == nowhere || n.kind != unix.S_IFREG && n.kind != unix.S_IFDIR ||
		!strings.HasPrefix(name, "user.") {
		return nil, unix.EOPNOTSUPP
	}
	_, err = v.current(n)
	return n, err
}

// opened opens a node for calls that want no O_PATH descriptor. The caller closes it.
func (v *view) opened(n *node) (int, error) {
	place, err := v.placeOf(n)
	if err != nil {
		return -1, err
	}
	defer place.release()
	return v.fs.reopen(place.fd, unix.O_RDONLY)
}

// GetXAttr answers GETXATTR. In the git view the kernel never asks again: otherwise it
// looks for capabilities before every first write to a file.
func (v *view) GetXAttr(_ <-chan struct{}, header *fuse.InHeader, name string, dest []byte) (uint32, fuse.Status) {
	if v.kind == Git {
		return 0, fuse.ENOSYS
	}
	n, err := v.attributed(header.NodeId, name)
	if is(err, unix.EOPNOTSUPP) {
		return 0, fuse.ENODATA
	}
	if err != nil {
		return 0, status(err)
	}
	fd, err := v.opened(n)
	if err != nil {
		return 0, status(err)
	}
	defer unix.Close(fd)
	size, err := unix.Fgetxattr(fd, name, dest)
	return uint32(max(size, 0)), status(err)
}

// ListXAttr answers LISTXATTR.
func (v *view) ListXAttr(_ <-chan struct{}, header *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	n, err := v.attributed(header.NodeId, "user.")
	if is(err, unix.EOPNOTSUPP) {
		return 0, fuse.OK
	}
	if err != nil {
		return 0, status(err)
	}
	fd, err := v.opened(n)
	if err != nil {
		return 0, status(err)
	}
	defer unix.Close(fd)
	all := make([]byte, 64<<10) // XATTR_LIST_MAX
	size, err := unix.Flistxattr(fd, all)
	if err != nil {
		return 0, status(err)
	}
	var shown []byte
	for name := range bytes.SplitAfterSeq(all[:size], []byte{0}) {
		if bytes.HasPrefix(name, []byte("user.")) {
			shown = append(shown, name...)
		}
	}
	if len(dest) > 0 && len(shown) > len(dest) {
		return uint32(len(shown)), fuse.ERANGE
	}
	copy(dest, shown)
	return uint32(len(shown)), fuse.OK
}

// SetXAttr answers SETXATTR.
func (v *view) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, name string, data []byte) fuse.Status {
	return v.changeXAttr(in.NodeId, name, func(fd int) error {
		return unix.Fsetxattr(fd, name, data, int(in.Flags))
	})
}

// RemoveXAttr answers REMOVEXATTR.
func (v *view) RemoveXAttr(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return v.changeXAttr(header.NodeId, name, func(fd int) error { return unix.Fremovexattr(fd, name) })
}

func (v *view) changeXAttr(id uint64, name string, change func(fd int) error) fuse.Status {
	n, err := v.node(id)
	if err == nil && n.key.backend == nowhere {
		err = unix.EROFS
	}
	if err == nil {
		n, err = v.attributed(id, name)
	}
	if err != nil {
		return status(err)
	}
	if err := v.changeOpened(n, change); err != nil {
		return status(err)
	}
	v.wrote(n)
	return fuse.OK
}

func (v *view) changeOpened(n *node, do func(fd int) error) error {
	v.fs.tree.RLock()
	defer v.fs.tree.RUnlock()
	place, err := v.changeable(n, change)
	if err != nil {
		return err
	}
	defer place.release()
	fd, err := v.fs.reopen(place.fd, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}
