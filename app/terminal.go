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

// changed reports whether something was written since it was last called; what is
// written from now on is told to the event loop again.
func (t *terminal) changed() bool { return t.stale.Swap(false) }

func (t *terminal) resize(cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emu.Resize(cols, rows)
	t.rows = rows
}

// picture is what a terminal looks like, kept until it changes.
type picture struct {
	grid  *frame.Grid
	above int // lines the view is scrolled up
	title string
	held  bool // the program holds the picture (mode 2026); it may come free by time
	top   int  // what was asked for
	rows  int
	cols  int
}

// picture returns what to draw with line top first, the live screen when top is
// negative.
func (t *terminal) picture(top int) picture {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := picture{top: top, title: t.emu.Title(), held: t.emu.Modes().Synchronized}
	if top >= 0 {
		p.above = max(0, t.emu.ScrollbackLen()-top)
	}
	p.grid = t.emu.Frame(p.above)
	p.cols, p.rows = p.grid.W, p.grid.H
	return p
}

func (t *terminal) modes() term.Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.Modes()
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
