package journal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"lazaret.dev/lazaret/internal/safefs"
)

// The files in Domain storage.
const (
	FileName = "journal"
	PinsName = "pins"
)

// Open reads the journal of dir back. A missing one is an empty journal. Of a
// damaged one (ErrDamaged, or a safefs error) nothing is taken: the journal is
// empty then too, and the error says so.
func Open(dir *os.File) (*Journal, error) { return open(dir, FileName, maxFile, New, Restore) }

// OpenPins is Open for the pins. Without them every rule file the guest could have
// written counts as not accepted, which the caller decides.
func OpenPins(dir *os.File) (*Pins, error) {
	return open(dir, PinsName, maxPinsFile, NewPins, RestorePins)
}

func open[T any](dir *os.File, name string, limit int64, fresh func() T, restore func([]byte) (T, error)) (T, error) {
	data, err := safefs.ReadAt(dir, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh(), nil
	}
	if err != nil {
		return fresh(), err
	}
	kept, err := restore(data)
	if err != nil {
		return fresh(), err
	}
	return kept, nil
}

// Record is what a Writer writes: a Journal or Pins.
type Record interface {
	// Snapshot returns the file and counts the record as clean.
	Snapshot() ([]byte, error)
	// changed gives one value whenever a clean record has changed.
	changed() <-chan struct{}
	// spoil makes the record dirty again after a snapshot that was not written.
	spoil()
}

// dirt says whether a record has changed since its last snapshot. The record's mu
// guards it.
type dirt struct {
	clean  bool
	signal chan struct{} // capacity 1
}

func newDirt() dirt { return dirt{clean: true, signal: make(chan struct{}, 1)} }

// raise marks the record as changed and tells the writer, once.
func (d *dirt) raise() {
	if !d.clean {
		return
	}
	d.clean = false
	select {
	case d.signal <- struct{}{}:
	default: // it has not heard the last one yet
	}
}

func (j *Journal) changed() <-chan struct{} { return j.dirt.signal }
func (p *Pins) changed() <-chan struct{}    { return p.dirt.signal }

func (j *Journal) spoil() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dirt.raise()
}

func (p *Pins) spoil() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dirt.raise()
}

// period is the least time between two writings.
const period = time.Second

// Writer keeps the file of one record up to date.
type Writer struct {
	Record Record
	// Save replaces the file; SaveIn makes one. last says that no other follows.
	Save func(data []byte, last bool) error
	// Failed is told of every writing that went wrong; it may be nil. The change is
	// tried again with the next period.
	Failed func(error)

	writing sync.Mutex // held from the snapshot to its end: an older one never comes later
}

// SaveIn returns what saves to name in dir. Only the last writing of a generation, and
// what Flush writes, is made durable: a loss of power may cost the record, not the
// sandbox's time.
func SaveIn(dir *os.File, name string) func(data []byte, last bool) error {
	return func(data []byte, last bool) error {
		return safefs.ReplaceAt(dir, name, data, safefs.Durability(last))
	}
}

// Run writes the record whenever it has changed, at most once a second, until ctx
// ends, and then once more. It returns the error of that last writing.
func (w *Writer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return w.write(true)
		case <-w.Record.changed():
		}
		if err := w.write(false); err != nil {
			w.Record.spoil()
			if w.Failed != nil {
				w.Failed(err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(period):
		}
	}
	return w.write(true)
}

// Flush writes the record durably and returns when that is done.
func (w *Writer) Flush() error { return w.write(true) }

func (w *Writer) write(last bool) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	data, err := w.Record.Snapshot()
	if err != nil {
		return err
	}
	return w.Save(data, last)
}
