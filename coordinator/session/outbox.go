package session

import (
	"sync"

	"lazaret.dev/lazaret/coordinator/wire"
)

const (
	// outputBytes is how much output waits for a client before its pumps do.
	outputBytes = 2 * wire.MaxChunk
	// controlMessages bounds what is not output; only a client that stopped
	// reading reaches it, and that client is dropped.
	controlMessages = 256
)

// outbox is what waits to be written to one client. Output blocks its producer
// when full; everything else never blocks: status and credit coalesce, and the
// rest is bounded.
type outbox struct {
	mu      sync.Mutex
	changed sync.Cond // on any change; few goroutines wait
	control []wire.Message
	status  *wire.Status
	credit  uint32
	output  []wire.Output
	queued  int          // bytes in output
	last    wire.Message // written when all else is; nil until finish
	closed  bool         // the client is gone; producers discard
	done    chan struct{}
}

func newOutbox() *outbox {
	o := &outbox{done: make(chan struct{})}
	o.changed.L = &o.mu
	return o
}

// put queues a control message. It returns false when the client has let too
// many pile up.
func (o *outbox) put(m wire.Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.last != nil {
		return true
	}
	defer o.changed.Broadcast()
	if s, ok := m.(wire.Status); ok {
		o.status = &s
		return true
	}
	if n, ok := m.(wire.Notice); ok && n.Level == wire.LevelInfo && len(o.control) >= controlMessages/2 {
		return true // for display only: lost rather than in the way
	}
	if len(o.control) >= controlMessages {
		return false
	}
	o.control = append(o.control, m)
	return true
}

// grant gives the client n more bytes of input credit.
func (o *outbox) grant(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.credit += uint32(n)
	o.changed.Broadcast()
}

// write queues output and waits while too much is queued. Output for a client
// that is gone is discarded, so that the program can finish.
func (o *outbox) write(stream wire.Stream, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.queued >= outputBytes && !o.closed {
		o.changed.Wait()
	}
	if o.closed {
		return
	}
	o.queued += len(data)
	if n := len(o.output); n > 0 && o.output[n-1].Stream == stream &&
		len(o.output[n-1].Data)+len(data) <= wire.MaxChunk {
		o.output[n-1].Data = append(o.output[n-1].Data, data...)
	} else {
		o.output = append(o.output, wire.Output{Stream: stream, Data: append([]byte(nil), data...)})
	}
	o.changed.Broadcast()
}

// finish queues the session's last message behind everything else. Only the
// first call counts.
func (o *outbox) finish(m wire.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = m
	}
	o.changed.Broadcast()
}

// close says that nothing more will be written: the last message is out, or the
// client is gone.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		close(o.done)
	}
	o.closed = true
	o.control, o.status, o.output, o.queued = nil, nil, nil, 0
	o.changed.Broadcast()
}

// next waits for the next message to write; final says it is the last one. ok is
// false when the client is gone.
func (o *outbox) next() (m wire.Message, final, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.closed {
			return nil, true, false
		}
		if m := o.pick(); m != nil {
			o.changed.Broadcast()
			return m, false, true
		}
		if o.last != nil {
			return o.last, true, true
		}
		o.changed.Wait()
	}
}

// pick takes the most urgent message: requests and credit are small and come
// before status and output.
func (o *outbox) pick() wire.Message {
	switch {
	case len(o.control) > 0:
		m := o.control[0]
		o.control = o.control[1:]
		return m
	case o.credit > 0:
		m := wire.InputCredit{Bytes: o.credit}
		o.credit = 0
		return m
	case o.status != nil:
		m := *o.status
		o.status = nil
		return m
	case len(o.output) > 0:
		m := o.output[0]
		o.output = o.output[1:]
		o.queued -= len(m.Data)
		return m
	}
	return nil
}
