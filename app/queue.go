package app

import (
	"sync"

	"lazaret.dev/lazaret/coordinator/wire"
)

// queueLimit is how many bytes may wait for a session that does not read. It is
// above the largest paste, so that one paste always fits an empty queue.
const queueLimit = 16 << 20

// queue is the one way from the keyboard to a session: bytes and sizes in order,
// sent by a single goroutine. When it is full push refuses, so that neither the
// event loop blocks nor half a paste is delivered.
type queue struct {
	mu     sync.Mutex
	items  []queued
	bytes  int
	closed bool
	wake   chan struct{} // capacity 1: something was queued, or the queue closed
}

// queued is bytes, or a size when data is nil.
type queued struct {
	data []byte
	size wire.Size
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// push queues bytes, all of them or none, and reports which.
func (q *queue) push(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes+len(data) > queueLimit {
		return false
	}
	q.bytes += len(data)
	if n := len(q.items); n > 0 && q.items[n-1].data != nil {
		q.items[n-1].data = append(q.items[n-1].data, data...)
	} else {
		q.items = append(q.items, queued{data: append([]byte(nil), data...)})
	}
	q.signal()
	return true
}

// resize queues a size; a size that has not been sent yet is replaced.
func (q *queue) resize(size wire.Size) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.items); n > 0 && q.items[n-1].data == nil {
		q.items[n-1].size = size
	} else {
		q.items = append(q.items, queued{size: size})
	}
	q.signal()
}

// close makes run return once what is queued has been sent.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() (items []queued, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items, q.bytes = q.items, nil, 0
	return items, q.closed
}

// run sends what is queued until the queue is closed or the session is gone. It is
// the only writer of the attachment.
func (q *queue) run(att Attachment) {
	for range q.wake {
		items, closed := q.take()
		for _, it := range items {
			var err error
			if it.data == nil {
				err = att.Resize(it.size)
			} else {
				_, err = att.Write(it.data)
			}
			if err != nil {
				return // the Lost or Exit event says why
			}
		}
		if closed {
			return
		}
	}
}
