package app

import (
	"sync"
	"sync/atomic"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
)

// slice is how much output is parsed under the lock at a time, so that a flood in
// one pane delays the event loop by well under a millisecond.
const slice = 4 << 10

// terminal is a pane's emulator, shared by the pump that feeds it and the event
// loop that draws it.
type terminal struct {
	mu    sync.Mutex // guards emu, rows
	emu   term.Emulator
	rows  int
	stale atomic.Bool // changed since it was last drawn, and the loop has been told
}

func newTerminal(emu term.Emulator, rows int) *terminal { return &terminal{emu: emu, rows: rows} }

// write feeds output and returns what the terminal answers and what it asks of
// the developer.
func (t *terminal) write(data []byte) (replies []byte, events []term.Event) {
	for len(data) > 0 {
		n := min(slice, len(data))
		t.mu.Lock()
		t.emu.Write(data[:n])
		replies = append(replies, t.emu.TakeReplies()...)
		events = append(events, t.emu.TakeEvents()...)
		t.mu.Unlock()
		data = data[n:]
	}
	return replies, events
}

// touch marks the terminal as changed and reports whether the event loop has yet
// to be told: a flood sends one message a frame.
func (t *terminal) touch() bool { return t.stale.CompareAndSwap(false, true) }

// drawn says that what was written until now is about to be drawn.
func (t *terminal) drawn() { t.stale.Store(false) }

func (t *terminal) resize(cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emu.Resize(cols, rows)
	t.rows = rows
}

// frame returns what to draw with line top first, the live screen when top is
// negative, and how many lines above the live screen that is.
func (t *terminal) frame(top int) (g *frame.Grid, above int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if top >= 0 {
		above = max(0, t.emu.ScrollbackLen()-top)
	}
	return t.emu.Frame(above), above
}

func (t *terminal) modes() term.Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.Modes()
}

func (t *terminal) title() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.Title()
}

// history returns how many lines lie above the live screen.
func (t *terminal) history() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.ScrollbackLen()
}

// Len and Line make the terminal's lines readable for copy mode.
func (t *terminal) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.ScrollbackLen() + t.rows
}

// Line returns one line; 0 is the oldest.
func (t *terminal) Line(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.Line(n)
}
