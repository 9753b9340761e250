package watch

// maxBatch bounds how many names are merged before the sink hears of them.
const maxBatch = 4096

// batch merges events of the same name, in the order of their first one.
type batch struct {
	events   []Event
	places   map[place]int // into events
	overflow bool
}

type place struct {
	key  uint64
	name string
}

func newBatch() *batch { return &batch{places: map[place]int{}} }

func (b *batch) add(key uint64, name []byte, what What) {
	p := place{key, string(name)}
	if i, known := b.places[p]; known {
		b.events[i].What |= what
		return
	}
	b.places[p] = len(b.events)
	b.events = append(b.events, Event{Key: key, Name: p.name, What: what})
}

func (b *batch) full() bool { return b.overflow || len(b.events) >= maxBatch }

// deliver hands the batch to sink and empties it. After an overflow the events say
// less than the overflow does, and are left out.
func (b *batch) deliver(sink Sink) {
	switch {
	case b.overflow:
		sink.Overflow()
	case len(b.events) > 0:
		sink.Changed(b.events)
	}
	clear(b.events)
	clear(b.places)
	b.events, b.overflow = b.events[:0], false
}
