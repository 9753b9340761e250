package journal

import (
	"bytes"
	"maps"
)

// Replace makes all the pins there are. It does nothing when they are the same. Errors:
// ErrTooMuch, and then the old ones stand.
func (p *Pins) Replace(all map[string]Pin) error {
	fresh := NewPins()
	for path, pin := range all {
		if err := fresh.set(path, pin); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if samePins(p.pins, fresh.pins) {
		return nil
	}
	p.pins, p.bytes = fresh.pins, fresh.bytes
	p.dirt.raise()
	return nil
}

func samePins(a, b map[string]Pin) bool {
	return maps.EqualFunc(a, b, func(x, y Pin) bool {
		return x.Absent == y.Absent && x.By == y.By && bytes.Equal(x.Content, y.Content) && bytes.Equal(x.Written, y.Written)
	})
}
