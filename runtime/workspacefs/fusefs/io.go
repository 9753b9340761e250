package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Open answers OPEN in the git view. The tree view has the kernel never ask again:
// it then opens by itself, and cached reads cost nothing.
func (v *view) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if v.kind == Tree {
		return fuse.ENOSYS
	}
	n, err := v.node(in.NodeId)
	if err == nil {
		err = v.openable(n, in.Flags)
	}
	if err != nil {
		return status(err)
	}
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return fuse.OK
}

// openable refuses to open for writing what cannot be written.
func (v *view) openable(n *node, flags uint32) error {
	if flags&unix.O_ACCMODE == unix.O_RDONLY && flags&unix.O_TRUNC == 0 {
		_, err := v.current(n)
		return err
	}
	v.fs.tree.RLock()
	defer v.fs.tree.RUnlock()
	place, err := v.changeable(n, write)
	if err != nil {
		return err
	}
	place.release()
	return nil
}

// Release answers RELEASE in the git view.
func (v *view) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if n, err := v.node(in.NodeId); err == nil && in.Flags&unix.O_ACCMODE != unix.O_RDONLY {
		v.fs.files.drop(&n.writing)
	}
}

// OpenDir is never asked again: directories are read without a handle, and cached.
func (v *view) OpenDir(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.ENOSYS }

// Flush is never asked again: closing a file means nothing here.
func (v *view) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

// reader returns a file open for reading. The caller releases it.
func (v *view) reader(n *node) (*descriptor, error) {
	if d := v.fs.files.take(&n.reading); d != nil {
		return d, nil
	}
	if n.kind != unix.S_IFREG {
		return nil, unix.EINVAL
	}
	place, err := v.placeOf(n)
	if err != nil {
		return nil, err
	}
	defer place.release()
	fd, err := v.fs.reopen(place.fd, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return v.fs.files.keep(&n.reading, fd), nil
}

// writer returns a file open for writing that changeable has returned the place of.
// The caller releases it.
func (v *view) writer(n *node, place *descriptor) (*descriptor, error) {
	if n.kind != unix.S_IFREG {
		return nil, unix.EINVAL
	}
	if d := v.fs.files.take(&n.writing); d != nil {
		return d, nil
	}
	fd, err := v.fs.reopen(place.fd, unix.O_WRONLY)
	if err != nil {
		return nil, err
	}
	v.fs.written.add(&n.writing)
	return v.fs.files.keep(&n.writing, fd), nil
}

// spliceFrom is the request size from which data is spliced instead of copied.
const spliceFrom = 128 << 10

// Read answers READ.
func (v *view) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, err := v.node(in.NodeId)
	if err == nil {
		_, err = v.current(n)
	}
	if err != nil {
		return nil, status(err)
	}
	if n.key.backend == nowhere {
		return fuse.ReadResultData(nil), fuse.OK
	}
	d, err := v.reader(n)
	if err != nil {
		return nil, status(err)
	}
	if in.Size >= spliceFrom {
		return &spliced{d: d, offset: int64(in.Offset), size: int(in.Size)}, fuse.OK
	}
	defer d.release()
	var size int
	err = again(func() error {
		size, err = unix.Pread(d.fd, buf, int64(in.Offset))
		return err
	})
	if err != nil {
		return nil, status(err)
	}
	return copied(buf[:size]), fuse.OK
}

// copied is a piece of a file in memory. The library tries to splice every other kind of
// answer, and takes it back.
type copied []byte

// Slices tells the library what to write.
func (c copied) Slices() ([][]byte, fuse.Status) { return [][]byte{c}, fuse.OK }

// Bytes is for the library's other ways.
func (c copied) Bytes([]byte) ([]byte, fuse.Status) { return c, fuse.OK }

func (c copied) Size() int { return len(c) }

func (c copied) Done() {}

// spliced is a piece of a file that goes to the kernel without being copied here.
type spliced struct {
	d      *descriptor
	offset int64
	size   int
}

// Seekable tells the library what to splice.
func (s *spliced) Seekable() (fd uintptr, offset int64, size int) {
	return uintptr(s.d.fd), s.offset, s.size
}

func (s *spliced) Size() int { return s.size }

func (s *spliced) Done() { s.d.release() }

// Bytes copies where the library cannot splice.
func (s *spliced) Bytes(buf []byte) ([]byte, fuse.Status) {
	n, err := unix.Pread(s.d.fd, buf[:min(len(buf), s.size)], s.offset)
	return buf[:max(n, 0)], status(err)
}
