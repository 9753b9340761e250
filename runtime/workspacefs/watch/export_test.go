package watch

import "golang.org/x/sys/unix"

// Parse, Batch and Identity are internals the tests of this folder look at.
var (
	ErrMalformed = errMalformed
	ErrVersion   = errVersion
	Identity     = identity
	Unavailable  = unavailable
	Wrap         = wrap
)

// Advice is for a person.
func Advice(why error, marks int) error { return advice(why, marks) }

// Record is what Parse finds.
type Record struct {
	Mask      uint64
	PID       int32
	Dir, Name string
}

// Parse collects.
func Parse(b []byte) (list []Record, err error) {
	err = parse(b, func(r record) {
		list = append(list, Record{r.mask, r.pid, string(r.dir), string(r.name)})
	})
	return list, err
}

// Feed gives w a buffer as if the kernel had, and the sink what came of it.
func (w *Watcher) Feed(b []byte, sink Sink) error {
	merged := newBatch()
	err := w.take(b, merged)
	merged.deliver(sink)
	return err
}

// Name makes w know a directory that no kernel marked.
func (w *Watcher) Name(fsid unix.Fsid, handle unix.FileHandle, key uint64) {
	id := identity(fsid, handle)
	w.keys[id] = append(w.keys[id], key)
	w.names[key] = id
}

// Unattached is a Watcher without a kernel.
func Unattached(self int32) *Watcher {
	return &Watcher{self: self, keys: map[string][]uint64{}, names: map[uint64]string{}, unwatched: map[uint64]error{}, told: map[error]bool{}}
}
