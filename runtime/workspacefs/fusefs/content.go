package fusefs

import "sync"

// content is a file that is being written. As long as it is, no rename makes it what
// the host's git trusts.
type content struct {
	*descriptor
	fs   *FS
	of   identity
	done func()
}

// writable returns a node's file open for writing, if it may be. The caller ends it.
func (v *view) writable(n *node) (*content, error) {
	v.fs.tree.RLock()
	defer v.fs.tree.RUnlock()
	at, err := v.changeable(n, write)
	if err != nil {
		return nil, err
	}
	defer at.release()
	done, err := v.fs.changing(at.verdict, at.path, "")
	if err != nil {
		return nil, err
	}
	d, err := v.writer(n, at.descriptor)
	if err != nil {
		done()
		return nil, err
	}
	v.fs.busy.begin(n.key.identity)
	return &content{descriptor: d, fs: v.fs, of: n.key.identity, done: done}, nil
}

func (c *content) end() {
	c.release()
	c.fs.busy.end(c.of)
	c.done()
}

// busy counts the writes under way. They begin with FS.tree held for reading and go on
// without.
type busy struct {
	mu    sync.Mutex
	count map[identity]int
}

func (b *busy) begin(id identity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == nil {
		b.count = map[identity]int{}
	}
	b.count[id]++
}

func (b *busy) end(id identity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count[id]--; b.count[id] == 0 {
		delete(b.count, id)
	}
}

func (b *busy) is(id identity) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count[id] > 0
}
