package fusefs

import (
	"container/list"
	"sync"

	"golang.org/x/sys/unix"
)

// pool keeps descriptors open for as long as there is room. A descriptor sits in a
// slot of its owner; whoever uses it takes it and releases it, and it is closed
// when it is out of its slot and out of use.
type pool struct {
	mu     sync.Mutex
	budget int
	recent *list.List // of *descriptor, most recently used in front; pinned ones are not in it
}

type descriptor struct {
	fd   int
	pool *pool
	// Guarded by pool.mu.
	users int
	slot  *slot         // nil when it has left its slot
	elem  *list.Element // nil when pinned or out of its slot
}

// slot holds at most one descriptor. Guarded by pool.mu.
type slot struct{ d *descriptor }

func newPool(budget int) *pool { return &pool{budget: max(budget, 16), recent: list.New()} }

// take returns the slot's descriptor for use, nil when there is none.
func (p *pool) take(s *slot) *descriptor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.d == nil {
		return nil
	}
	if s.d.elem != nil {
		p.recent.MoveToFront(s.d.elem)
	}
	s.d.users++
	return s.d
}

// keep puts fd into the slot, unless another has come there first, and returns the
// slot's descriptor for use. Descriptors not used for longest leave.
func (p *pool) keep(s *slot, fd int) *descriptor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.d != nil {
		unix.Close(fd)
		s.d.users++
		return s.d
	}
	s.d = &descriptor{fd: fd, pool: p, slot: s, users: 1}
	s.d.elem = p.recent.PushFront(s.d)
	for p.recent.Len() > p.budget {
		p.evict(p.recent.Back().Value.(*descriptor))
	}
	return s.d
}

// pin keeps what is in the slot, or fd, until drop: it no longer counts.
func (p *pool) pin(s *slot, fd int) {
	d := p.keep(s, fd)
	p.mu.Lock()
	if d.elem != nil && s.d == d {
		p.recent.Remove(d.elem)
		d.elem = nil
	}
	p.mu.Unlock()
	d.release()
}

// drop empties slots.
func (p *pool) drop(slots ...*slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range slots {
		if s.d != nil {
			p.evict(s.d)
		}
	}
}

// evict takes d out of its slot. The lock is held.
func (p *pool) evict(d *descriptor) {
	if d.elem != nil {
		p.recent.Remove(d.elem)
		d.elem = nil
	}
	d.slot.d = nil
	d.slot = nil
	if d.users == 0 {
		unix.Close(d.fd)
	}
}

// release ends a use that take or keep began.
func (d *descriptor) release() {
	d.pool.mu.Lock()
	defer d.pool.mu.Unlock()
	d.users--
	if d.users == 0 && d.slot == nil {
		unix.Close(d.fd)
	}
}

// lone returns a descriptor that is in no slot.
func (p *pool) lone(fd int) *descriptor { return &descriptor{fd: fd, pool: p, users: 1} }
