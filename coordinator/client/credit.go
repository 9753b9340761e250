package client

import "sync"

// credit is how many input bytes the coordinator will take now.
type credit struct {
	mu     sync.Mutex
	more   sync.Cond // signalled by add and close
	bytes  uint64
	closed bool
}

func (c *credit) init() { c.more.L = &c.mu }

// take waits for credit and returns between 1 and most bytes of it.
func (c *credit) take(most int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes == 0 && !c.closed {
		c.more.Wait()
	}
	if c.closed {
		return 0, ErrClosed
	}
	n := int(min(uint64(most), c.bytes))
	c.bytes -= uint64(n)
	return n, nil
}

func (c *credit) add(n uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += uint64(n)
	c.more.Signal()
}

func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.more.Broadcast()
}
