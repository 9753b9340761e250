package desk

import (
	"context"
	"fmt"
	"sync"

	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// delivery is the output of one request on its way inside: chunks numbered from 1,
// at most wire.MaxUnacknowledged of them not taken. When they are that many, send
// waits, the pipe fills, and the program waits in its own write.
type delivery struct {
	desk *Desk
	id   domain.RequestID

	// turn orders the two streams; it is held while waiting, so both pause.
	// It is taken before mu.
	turn sync.Mutex

	mu    sync.Mutex
	last  uint32        // written
	acked uint32        // taken, and removed
	freed chan struct{} // holds at most one
}

func (d *Desk) newDelivery(id domain.RequestID) *delivery {
	return &delivery{desk: d, id: id, freed: make(chan struct{}, 1)}
}

// send delivers one chunk. When nothing is taken for the time-out, the run of the
// request is cancelled, and with it ctx.
func (v *delivery) send(ctx context.Context, stream wire.Stream, data []byte) error {
	v.turn.Lock()
	defer v.turn.Unlock()
	if err := v.room(ctx); err != nil {
		return err
	}
	v.mu.Lock()
	v.last++
	seq := v.last
	v.mu.Unlock()
	return v.desk.put(v.id, wire.ChunkName(v.id, seq), seal.Chunk,
		wire.Chunk{Request: v.id, Sequence: seq, Stream: stream, Data: data})
}

// room waits until another chunk may be written.
func (v *delivery) room(ctx context.Context) error {
	if v.outstanding() < wire.MaxUnacknowledged {
		return nil
	}
	late := make(chan struct{})
	stop := v.desk.cfg.Clock.AfterFunc(v.desk.cfg.AckTimeout, func() { close(late) })
	defer stop()
	for v.outstanding() >= wire.MaxUnacknowledged {
		select {
		case <-v.freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			v.desk.timeout(v.id)
			return errAckTimeout
		}
	}
	return nil
}

// timeout ends the run of a request whose asker takes nothing.
func (d *Desk) timeout(id domain.RequestID) {
	d.mu.Lock()
	r := d.requests[id]
	d.mu.Unlock()
	if r != nil {
		d.withdraw(r, errAckTimeout)
	}
}

func (v *delivery) outstanding() uint32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last - v.acked
}

func (v *delivery) sent() uint32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// acknowledge removes the chunks up to seq.
func (v *delivery) acknowledge(seq uint32) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if seq > v.last {
		return fmt.Errorf("acknowledgement of chunk %d of %q, of which there are %d: %w", seq, v.id, v.last, wire.ErrMalformed)
	}
	for ; v.acked < seq; v.acked++ {
		v.desk.out.Remove(wire.ChunkName(v.id, v.acked+1))
	}
	select {
	case v.freed <- struct{}{}:
	default:
	}
	return nil
}

// remove removes what was not taken.
func (v *delivery) remove() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ; v.acked < v.last; v.acked++ {
		v.desk.out.Remove(wire.ChunkName(v.id, v.acked+1))
	}
}
