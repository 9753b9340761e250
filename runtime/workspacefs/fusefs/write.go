package fusefs

import (
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Write answers WRITE.
func (v *view) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, err := v.node(in.NodeId)
	if err != nil {
		return 0, status(err)
	}
	size, err := v.write(n, in, data)
	if err != nil {
		return 0, status(err)
	}
	v.wrote(n)
	return uint32(size), fuse.OK
}

func (v *view) write(n *node, in *fuse.WriteIn, data []byte) (size int, err error) {
	d, err := v.writable(n)
	if err != nil {
		return 0, err
	}
	defer d.end()
	if in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
		if err := v.killPrivileges(d.fd); err != nil {
			return 0, err
		}
	}
	appends := in.Flags&unix.O_APPEND != 0 && in.WriteFlags&fuse.WRITE_CACHE == 0
	err = again(func() error {
		if appends {
			size, err = unix.Pwritev2(d.fd, [][]byte{data}, 0, unix.RWF_APPEND)
		} else {
			size, err = unix.Pwrite(d.fd, data, int64(in.Offset))
		}
		return err
	})
	if err == nil && appends {
		v.appended(n, d.fd, in.Offset+uint64(size))
	}
	return size, err
}

// appended drops the kernel's copy when the end it appended at was not the file's:
// somebody on the host had appended too.
func (v *view) appended(n *node, fd int, end uint64) {
	if st, err := stat(fd); err != nil || st.Size != end {
		v.notifier.inode(n.id)
	}
}

// killPrivileges takes the set-user-id bits from a file that is about to be written.
func (v *view) killPrivileges(fd int) error {
	st, err := stat(fd)
	if err != nil || uint32(st.Mode)&(unix.S_ISUID|unix.S_ISGID) == 0 {
		return err
	}
	return unix.Fchmod(fd, uint32(st.Mode)&0o7777&^(unix.S_ISUID|unix.S_ISGID))
}

// wrote tells of a changed file.
func (v *view) wrote(n *node) {
	v.table.touch(n)
	v.fs.tell(func(e Events) {
		if !v.table.removed(n) {
			e.Wrote(v.table.pathOf(n), v.verdict(n))
		}
	})
}

// Fsync answers FSYNC.
func (v *view) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	n, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	if n.key.backend == nowhere || n.kind != unix.S_IFREG {
		return fuse.OK
	}
	d := v.fs.files.take(&n.writing)
	if d == nil {
		if d, err = v.reader(n); err != nil {
			return status(err)
		}
	}
	defer d.release()
	if in.FsyncFlags&1 != 0 {
		return status(unix.Fdatasync(d.fd))
	}
	return status(unix.Fsync(d.fd))
}

// FsyncDir answers FSYNCDIR.
func (v *view) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	n, err := v.node(in.NodeId)
	if err != nil || n.virtual() {
		return status(err)
	}
	for b := host; b <= transient; b++ {
		d, err := v.base(n, b)
		if err != nil {
			return status(err)
		}
		if d == nil {
			continue
		}
		err = v.sync(d.fd)
		d.release()
		if err != nil {
			return status(err)
		}
	}
	return fuse.OK
}

func (v *view) sync(place int) error {
	fd, err := unix.Openat(place, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}

// written closes files that were written some moments ago. A file that is open for
// writing cannot be executed on the host, and nobody says when the sandbox has closed
// one.
type written struct {
	mu    sync.Mutex
	slots map[*slot]struct{}
	pool  *pool
}

// writtenIdle is how often files written since the last time are closed.
const writtenIdle = 50 * time.Millisecond

func (w *written) add(s *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots[s] = struct{}{}
	if len(w.slots) == 1 {
		time.AfterFunc(writtenIdle, w.close)
	}
}

func (w *written) close() {
	w.mu.Lock()
	slots := w.slots
	w.slots = map[*slot]struct{}{}
	w.mu.Unlock()
	for s := range slots {
		w.pool.drop(s)
	}
}
