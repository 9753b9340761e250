package outer

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/frame"
)

// Screen writes pictures to the terminal from a goroutine of its own, so that a
// terminal that does not take bytes never stops the event loop. Pictures have one
// place: a newer one replaces one that was not yet written.
type Screen struct {
	terminal *frame.Terminal
	features frame.Features
	writer   *frame.Writer
	profile  frame.Profile

	mu      sync.Mutex // guards the fields below
	next    *frame.Grid
	spare   *frame.Grid // was shown, or replaced before it could be
	control []byte
	sync    bool // the terminal knows synchronized output
	fresh   bool // what the terminal shows is unknown
	paused  bool
	closed  bool

	wake    chan struct{} // capacity 1
	done    chan struct{} // closed when the goroutine has ended
	writing sync.Mutex    // held while bytes are written; taken before mu
}

// query asks the terminal whether it knows synchronized output; it answers on its
// input (DECRQM).
const query = "\x1b[?2026$p"

// Enter takes the terminal over and starts the writer.
func Enter(t *frame.Terminal, f frame.Features, p frame.Profile) (*Screen, error) {
	// A dashboard that was killed could not clean up; this start does.
	if _, err := t.File().WriteString(frame.Repair()); err != nil {
		return nil, fmt.Errorf("repair terminal: %w", err)
	}
	if err := t.Enter(f); err != nil {
		return nil, err
	}
	s := &Screen{
		terminal: t, features: f, profile: p, writer: frame.NewWriter(t.File(), p),
		sync: p.Sync, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	s.Control([]byte(query))
	go func() {
		defer func() {
			close(s.done)
			if r := recover(); r != nil {
				_ = t.Restore()
				panic(r)
			}
		}()
		s.run()
	}()
	return s, nil
}

// Draw shows g once the terminal takes it.
func (s *Screen) Draw(g *frame.Grid) {
	s.mu.Lock()
	if s.next != nil {
		s.spare = s.next
	}
	s.next = g
	s.mu.Unlock()
	s.signal()
}

// Spare returns a grid that Draw was given and that is no longer needed, or nil.
func (s *Screen) Spare() *frame.Grid {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.spare
	s.spare = nil
	return g
}

// controlLimit is how many control bytes may wait for a terminal that takes none;
// more are dropped, a bell is not worth a hang.
const controlLimit = 256 << 10

// Control writes bytes that are no picture.
func (s *Screen) Control(b []byte) {
	s.mu.Lock()
	if len(s.control)+len(b) <= controlLimit {
		s.control = append(s.control, b...)
	}
	s.mu.Unlock()
	s.signal()
}

// Synchronized says whether the terminal knows synchronized output.
func (s *Screen) Synchronized(yes bool) {
	s.mu.Lock()
	s.sync = yes
	s.mu.Unlock()
}

// Repaint forgets what the terminal shows.
func (s *Screen) Repaint() {
	s.mu.Lock()
	s.fresh = true
	s.mu.Unlock()
}

func (s *Screen) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Screen) run() {
	for range s.wake {
		if !s.write() {
			return
		}
	}
}

// write writes what waits and reports whether to go on.
func (s *Screen) write() bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	if s.paused {
		s.mu.Unlock()
		return true
	}
	g, control, fresh, sync := s.next, s.control, s.fresh, s.sync
	s.next, s.control, s.fresh = nil, nil, false
	s.mu.Unlock()
	if len(control) > 0 {
		if _, err := s.terminal.File().Write(control); err != nil {
			return true // the reader notices a terminal that is gone
		}
	}
	if sync != s.profile.Sync {
		s.profile.Sync = sync
		s.writer.SetProfile(s.profile)
	}
	if fresh {
		s.writer.Invalidate()
	}
	if g != nil {
		_ = s.writer.Draw(g) // the same
		s.mu.Lock()
		s.spare = g
		s.mu.Unlock()
	}
	return true
}

// pause waits for the bytes being written and keeps further ones back.
func (s *Screen) pause() {
	s.mu.Lock()
	s.paused = true
	s.mu.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
}

func (s *Screen) resume() {
	s.mu.Lock()
	s.paused, s.fresh = false, true
	s.mu.Unlock()
	s.signal()
}

// closeTime is how long Close waits for a picture that is being written. A terminal
// that takes nothing must not keep the dashboard from leaving.
const closeTime = 500 * time.Millisecond

// Close stops writing and puts the terminal back, in this order, so that no rest of
// a picture follows. A picture that was not yet begun is dropped. It may be called
// more than once and from a deferred recover.
func (s *Screen) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
	select {
	case <-s.done:
	case <-time.After(closeTime):
		// What the terminal has not taken by now is dropped, so that what puts
		// it back can be written.
		_ = unix.IoctlSetInt(int(s.terminal.File().Fd()), unix.TCFLSH, unix.TCOFLUSH)
	}
	return s.terminal.Restore()
}

// Size returns the terminal's size.
func (s *Screen) Size() (w, h int, err error) { return s.terminal.Size() }

// File returns the terminal to read from.
func (s *Screen) File() *os.File { return s.terminal.File() }
