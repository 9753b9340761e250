package notify

import (
	"context"
	"sync"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// Notifier turns changes into pokes. Its methods may overlap; Run runs once.
type Notifier struct {
	mu    sync.Mutex // protects queue
	queue *queue
	more  chan struct{} // one element: something was added
}

// New makes a Notifier that nothing waits in.
func New(options Options) *Notifier {
	return &Notifier{queue: newQueue(options, time.Now()), more: make(chan struct{}, 1)}
}

// Changed takes a name the host changed in the directory dir: a clean path relative
// to the workspace, "." for its top.
func (n *Notifier) Changed(dir, name string, what watch.What) {
	n.mu.Lock()
	n.queue.add(time.Now(), dir, name, what)
	n.mu.Unlock()
	n.wake()
}

// Overflow takes that anything may have changed.
func (n *Notifier) Overflow() {
	n.mu.Lock()
	n.queue.everything(time.Now())
	n.mu.Unlock()
	n.wake()
}

func (n *Notifier) wake() {
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// Run calls poke, one path at a time, until ctx ends or poke fails, whose error it
// returns. Paths are relative to the workspace, "." for its top. While poke works,
// changes wait and merge.
func (n *Notifier) Run(ctx context.Context, poke func(path string) error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.mu.Lock()
		paths, wait := n.queue.take(time.Now())
		n.mu.Unlock()
		for _, p := range paths {
			if err := poke(p); err != nil {
				return err
			}
		}
		var due <-chan time.Time
		if wait >= 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.more:
		case <-due:
		}
	}
}
