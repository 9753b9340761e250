package views

import "time"

// QuietTime is how long the keyboard must have been still before a dialog that
// may have opened under the developer's fingers takes a key.
const QuietTime = 600 * time.Millisecond

// Guard decides whether a dialog may take a key yet: only once the developer has
// paused for QuietTime since it opened. A key that comes too early starts the
// wait again.
type Guard struct{ since time.Time }

// NewGuard starts the wait.
func NewGuard(now time.Time) Guard { return Guard{since: now} }

// Armed reports whether the pause has happened.
func (g Guard) Armed(now time.Time) bool { return now.Sub(g.since) >= QuietTime }

// Take reports whether a key pressed now may be used.
func (g *Guard) Take(now time.Time) bool {
	if g.Armed(now) {
		return true
	}
	g.since = now
	return false
}

// Restart starts the wait again. A dialog calls it for a key that means nothing to
// it: whoever pressed it is typing to something else.
func (g *Guard) Restart(now time.Time) { g.since = now }

// Due returns when the guard will be armed if nothing more is typed.
func (g Guard) Due() time.Time { return g.since.Add(QuietTime) }
