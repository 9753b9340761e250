package fusefs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// maxLinked bounds the files that links remembers.
const maxLinked = 1 << 16

// links remembers the host's files that the sandbox has given all their names.
type links struct {
	mu    sync.Mutex
	count map[identity]uint32 // how many names such a file has
}

// own says that all the names of a file are the sandbox's doing, or the one it had.
func (l *links) own(id identity, names uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[id] == names
}

// added notes that the sandbox gave a file with so many names one more. It refuses
// with EMLINK when there are too many such files.
func (l *links) added(id identity, before uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before > 1 && l.count[id] != before {
		return nil // it has names nobody knows, and keeps them
	}
	if _, known := l.count[id]; !known && len(l.count) >= maxLinked {
		return unix.EMLINK
	}
	if l.count == nil {
		l.count = map[identity]uint32{}
	}
	l.count[id] = before + 1
	return nil
}

// removed notes that the sandbox took one name away.
func (l *links) removed(id identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, known := l.count[id]; known {
		if n--; n <= 1 {
			delete(l.count, id)
			return
		}
		l.count[id] = n
	}
}
