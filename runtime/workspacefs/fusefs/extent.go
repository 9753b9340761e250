package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Fallocate answers FALLOCATE.
func (v *view) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	n, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	d, err := v.writable(n)
	if err != nil {
		return status(err)
	}
	defer d.end()
	err = again(func() error {
		return unix.Fallocate(d.fd, in.Mode, int64(in.Offset), int64(in.Length))
	})
	if err != nil {
		return status(err)
	}
	v.wrote(n)
	return fuse.OK
}

// Lseek answers LSEEK, which the kernel sends to find data and holes.
func (v *view) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	n, err := v.node(in.NodeId)
	if err == nil {
		_, err = v.current(n)
	}
	if err != nil {
		return status(err)
	}
	if in.Whence != unix.SEEK_DATA && in.Whence != unix.SEEK_HOLE || n.key.backend == nowhere {
		return fuse.EINVAL
	}
	d, err := v.reader(n)
	if err != nil {
		return status(err)
	}
	defer d.release()
	at, err := unix.Seek(d.fd, int64(in.Offset), int(in.Whence)) // nobody reads at the descriptor's own offset
	out.Offset = uint64(at)
	return status(err)
}

// maxCopy bounds one copy, in bytes: its size is answered in 32 bits.
const maxCopy = 1 << 30

// CopyFileRange answers COPY_FILE_RANGE.
func (v *view) CopyFileRange(_ <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	from, err := v.node(in.NodeId)
	if err == nil {
		_, err = v.current(from)
	}
	if err != nil {
		return 0, status(err)
	}
	to, err := v.node(in.NodeIdOut)
	if err != nil {
		return 0, status(err)
	}
	if from.key.backend == nowhere {
		return 0, fuse.OK
	}
	size, err := v.copy(from, to, in)
	if err != nil {
		return 0, status(err)
	}
	v.wrote(to)
	return uint32(size), fuse.OK
}

func (v *view) copy(from, to *node, in *fuse.CopyFileRangeIn) (int, error) {
	src, err := v.reader(from)
	if err != nil {
		return 0, err
	}
	defer src.release()
	dst, err := v.writable(to)
	if err != nil {
		return 0, err
	}
	defer dst.end()
	at, to64 := int64(in.OffIn), int64(in.OffOut)
	return unix.CopyFileRange(src.fd, &at, dst.fd, &to64, int(min(in.Len, maxCopy)), 0)
}
