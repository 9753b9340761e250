package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Limits of pins. With them their file stays below maxPinsFile. The paths of an index
// are the largest content by far.
const (
	maxPins       = 60_000   // canon takes 65,536 elements
	maxPinContent = 24 << 20 // one file's
	maxPinBytes   = 48 << 20 // of all paths and contents together
	maxPinsFile   = 64 << 20
)

// Author is who wrote a file last. Its number is in the pins' file.
type Author uint8

// The authors.
const (
	Host  Author = 1
	Guest Author = 2
)

// ErrTooMuch is a pin beyond the limits. Who gets it keeps what is hidden hidden.
var ErrTooMuch = errors.New("too many or too large rule files")

// Pin is the content of a rule file that is in force for what hides.
type Pin struct {
	Content []byte
	Absent  bool // the host had no such file; Content is empty
	By      Author
	// Written is the SHA-256 of what the guest wrote last, when By is Guest. A file that
	// is found with another content was written by somebody else since. All zeros stand for
	// any content: the guest may be writing, or was when the daemon ended.
	Written []byte
}

// Pins is safe for use by many goroutines.
type Pins struct {
	mu    sync.Mutex // guards everything below
	pins  map[string]Pin
	bytes int
	dirt  dirt
}

// NewPins returns no pins.
func NewPins() *Pins {
	return &Pins{pins: map[string]Pin{}, dirt: newDirt()}
}

// Get returns the pin of path. Its Content belongs to the pins.
func (p *Pins) Get(path string) (Pin, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pin, ok := p.pins[path]
	return pin, ok
}

// All returns every pin by path.
func (p *Pins) All() map[string]Pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.pins)
}

// ByHost pins path to content, which the host wrote; absent says that it removed
// the file. Errors: ErrTooMuch, and then the old pin stands.
func (p *Pins) ByHost(path string, content []byte, absent bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.set(path, Pin{Content: slices.Clone(content), Absent: absent, By: Host})
}

// ByGuest keeps path's pin and records that the guest wrote content last. A path
// without a pin is one the host did not have. Errors: ErrTooMuch.
func (p *Pins) ByGuest(path string, content []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pin, ok := p.pins[path]
	if !ok {
		pin = Pin{Absent: true}
	}
	sum := sha256.Sum256(content)
	pin.By, pin.Written = Guest, sum[:]
	return p.set(path, pin)
}

// Awaits reports whether found, path's content now, is the guest's and not accepted.
func (p Pin) Awaits(found []byte) bool {
	if p.open() {
		return p.By == Guest && (p.Absent || !bytes.Equal(found, p.Content))
	}
	sum := sha256.Sum256(found)
	return p.By == Guest && slices.Equal(sum[:], p.Written)
}

func (p Pin) open() bool { return len(p.Written) > 0 && len(bytes.Trim(p.Written, "\x00")) == 0 }

// AwaitsRemoval is Awaits for a file that is gone: the guest removed it.
func (p Pin) AwaitsRemoval(path string) bool {
	if p.open() {
		return p.By == Guest && !p.Absent
	}
	sum := route.RemovedDigest(path)
	return p.By == Guest && slices.Equal(sum[:], p.Written)
}

// set is called with mu held.
func (p *Pins) set(path string, pin Pin) error {
	if !ValidPath(path) || len(pin.Content) > maxPinContent {
		return fmt.Errorf("pin %q: %w", path, ErrTooMuch)
	}
	old, known := p.pins[path]
	grown := p.bytes + len(pin.Content) - len(old.Content)
	if !known {
		grown += len(path)
	}
	if grown > maxPinBytes || !known && len(p.pins) >= maxPins {
		return fmt.Errorf("pin %q: %w", path, ErrTooMuch)
	}
	p.pins[path], p.bytes = pin, grown
	p.dirt.raise()
	return nil
}

// pinsRecord is the pins' file, ordered by path.
type pinsRecord struct {
	Version uint32      `cbor:"1,keyasint"`
	Pins    []pinRecord `cbor:"2,keyasint"`
}

type pinRecord struct {
	Path    []byte `cbor:"1,keyasint"`
	Content []byte `cbor:"2,keyasint"`
	Absent  bool   `cbor:"3,keyasint,omitempty"`
	By      uint8  `cbor:"4,keyasint"`
	Written []byte `cbor:"5,keyasint,omitempty"`
}

// Snapshot returns the pins' file and counts them as clean from then on.
func (p *Pins) Snapshot() ([]byte, error) {
	p.mu.Lock()
	p.dirt.clean = true
	all := maps.Clone(p.pins) // contents are never changed in place
	p.mu.Unlock()
	r := pinsRecord{Version: version, Pins: make([]pinRecord, 0, len(all))}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		pin := all[path]
		r.Pins = append(r.Pins, pinRecord{Path: []byte(path), Content: orEmpty(pin.Content), Absent: pin.Absent, By: uint8(pin.By), Written: pin.Written})
	}
	return canon.Marshal(r)
}

// orEmpty keeps an empty content from being encoded as none.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// RestorePins reads a pins' file back. Errors are ErrDamaged.
func RestorePins(data []byte) (*Pins, error) {
	var r pinsRecord
	if err := canon.Unmarshal(data, maxPinsFile, &r); err != nil {
		return nil, fmt.Errorf("read pins: %w: %w", ErrDamaged, err)
	}
	if r.Version != version || r.Pins == nil {
		return nil, fmt.Errorf("read pins: %w: version %d is not %d, or no list", ErrDamaged, r.Version, version)
	}
	p := NewPins()
	for i, rec := range r.Pins {
		pin, err := rec.pin()
		if err == nil && i > 0 && string(r.Pins[i-1].Path) >= string(rec.Path) {
			err = fmt.Errorf("%q is out of order", rec.Path)
		}
		if err == nil {
			err = p.set(string(rec.Path), pin)
		}
		if err != nil {
			return nil, fmt.Errorf("read pins: %w: %w", ErrDamaged, err)
		}
	}
	p.dirt = newDirt()
	return p, nil
}

func (r pinRecord) pin() (Pin, error) {
	pin := Pin{Content: r.Content, Absent: r.Absent, By: Author(r.By), Written: r.Written}
	switch {
	case pin.By != Host && pin.By != Guest, pin.Absent && len(pin.Content) > 0, r.Content == nil:
		return Pin{}, fmt.Errorf("the pin of %q contradicts itself", r.Path)
	case pin.By == Guest && len(pin.Written) != sha256.Size, pin.By == Host && len(pin.Written) != 0:
		return Pin{}, fmt.Errorf("the pin of %q has a digest of %d bytes", r.Path, len(pin.Written))
	}
	return pin, nil
}
