package session

import "sync"

// inputWindow is how many input bytes a client may have under way.
const inputWindow = 64 << 10

// inbox is input the terminal has not taken yet, at most inputWindow bytes: the
// client is given credit only for what left it.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	eof     bool
	closed  bool
}

func newInbox() *inbox {
	i := &inbox{}
	i.changed.L = &i.mu
	return i
}

// put adds input. It returns false when the client exceeded its credit or wrote
// after the end: it does not keep to the protocol.
func (i *inbox) put(data []byte) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return true
	}
	if i.eof || len(i.data)+len(data) > inputWindow {
		return false
	}
	i.data = append(i.data, data...)
	i.changed.Signal()
	return true
}

// end marks the end of input.
func (i *inbox) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.eof = true
	i.changed.Signal()
}

// close discards what is left and ends take.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed, i.data = true, nil
	i.changed.Signal()
}

// take waits for input. It returns nil at the end, and whether the end was the
// client's own (EOF) rather than the session's.
func (i *inbox) take() (data []byte, eof bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.data) == 0 && !i.eof && !i.closed {
		i.changed.Wait()
	}
	if i.closed {
		return nil, false
	}
	if len(i.data) == 0 {
		return nil, true
	}
	data, i.data = i.data, nil
	return data, false
}
