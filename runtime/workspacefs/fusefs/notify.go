package fusefs

import (
	"encoding/binary"
	"os"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Telling the kernel to forget can wait for locks that a request holds, so no request
// waits for it: requests leave work to the notifier's goroutine, and everybody else
// calls the methods of FS below, which wait.

// notifier tells one connection's kernel what is no longer true.
type notifier struct {
	mu     sync.Mutex
	conn   *os.File // a duplicate of the connection; nil before it begins
	expire bool
	queue  []knowledge // what to drop; bounded by maxQueue
	lost   bool        // the queue was full: everything is to be dropped
	wake   chan struct{}
}

const maxQueue = 4096

// start begins telling; the returned function ends it and waits for it.
func (n *notifier) start(v *view, conn *os.File) (stop func()) {
	n.mu.Lock()
	n.conn, n.wake = conn, make(chan struct{}, 1)
	n.expire = v.server.Load().KernelSettings().Flags64()&fuse.CAP_HAS_EXPIRE_ONLY != 0
	n.mu.Unlock()
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-n.wake:
				n.drain(v)
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-done
		conn.Close()
	}
}

// inode leaves an inode to be dropped soon.
func (n *notifier) inode(id uint64) { n.leave(knowledge{id: id}) }

// entry leaves a name to be dropped soon.
func (n *notifier) entry(p place) { n.leave(knowledge{place: p}) }

func (n *notifier) leave(k knowledge) {
	n.mu.Lock()
	if len(n.queue) < maxQueue {
		n.queue = append(n.queue, k)
	} else {
		n.lost = true
	}
	wake := n.wake
	n.mu.Unlock()
	select {
	case wake <- struct{}{}:
	default: // it is awake, or nobody is there yet
	}
}

func (n *notifier) drain(v *view) {
	n.mu.Lock()
	queue, lost := n.queue, n.lost
	n.queue, n.lost = nil, false
	n.mu.Unlock()
	if lost {
		v.invalidateAll()
		return
	}
	for _, k := range queue {
		if k.id != 0 {
			v.dropInode(k.id)
		} else {
			v.dropEntry(k.dir, k.name)
		}
	}
}

// dropInode has the kernel forget attributes, data and listing of an inode.
func (v *view) dropInode(id uint64) {
	if s := v.server.Load(); s != nil {
		s.InodeNotify(id, 0, 0) // ENOENT: the kernel does not know it
	}
}

// dropEntry has the kernel ask again for a name. Where the kernel can, the name only
// expires: what is mounted below it then stays.
func (v *view) dropEntry(dir uint64, name string) {
	n := &v.notifier
	n.mu.Lock()
	conn, expire := n.conn, n.expire
	n.mu.Unlock()
	switch {
	case conn == nil: // nothing is cached yet
	case expire:
		_, _ = conn.Write(expiry(dir, name)) // ENOENT: the kernel does not know it
	case v.standing(dir, name): // and what is mounted on it would be lost
	default:
		v.server.Load().EntryNotify(dir, name)
	}
}

// standing says that a name is known as a directory and is that directory still.
func (v *view) standing(dir uint64, name string) bool {
	parent := v.table.get(dir)
	if parent == nil {
		return false
	}
	n := v.table.at(parent, name)
	if n == nil || !n.isDir() {
		return false
	}
	f, err := v.find(parent, name)
	return err == nil && f.st != nil && f.key() == n.key
}

// expiry is a FUSE_NOTIFY_INVAL_ENTRY message with FUSE_EXPIRE_ONLY (linux/fuse.h); the
// library has no way to send that flag.
func expiry(dir uint64, name string) []byte {
	const head = 16 + 16
	m := make([]byte, head, head+len(name)+1)
	binary.NativeEndian.PutUint32(m, uint32(head+len(name)+1))
	binary.NativeEndian.PutUint32(m[4:], -fuse.NOTIFY_INVAL_ENTRY)
	binary.NativeEndian.PutUint64(m[16:], dir)
	binary.NativeEndian.PutUint32(m[24:], uint32(len(name)))
	binary.NativeEndian.PutUint32(m[28:], fuse.EXPIRE_ONLY)
	return append(append(m, name...), 0)
}
