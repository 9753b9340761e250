package freshness

import (
	"context"
	"sync"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// A look-up that was being answered while the host put something else in a name's place
// may reach the kernel after it was told to forget the name, and the old answer then
// holds for as long as caches do. The kernel guards attributes and pages against that
// by versions and locks, but not the time it trusts a name for (fs/fuse/dir.c,
// fuse_dentry_revalidate). So names are forgotten again, when whoever was looking has
// long been answered: once soon, when watchers inside are poked again too, and once
// when even a starved process has had its turn.
const (
	soonTime = 40 * time.Millisecond
	lateTime = time.Second
)

// maxEchoes bounds the names of one echo that wait. For more, everything is forgotten.
const maxEchoes = 4096

// echo repeats what changed after a while.
type echo struct {
	delay time.Duration
	again func([]watch.Event)
	lost  func() // more changed than could be kept

	mu      sync.Mutex // protects what follows
	waiting []heard
	count   int
	more    chan struct{} // one element
}

// heard is a batch and when to repeat it. Without events it stands for lost ones.
type heard struct {
	due    time.Time
	events []watch.Event
}

func newEcho(delay time.Duration, again func([]watch.Event), lost func()) *echo {
	return &echo{delay: delay, again: again, lost: lost, more: make(chan struct{}, 1)}
}

// take keeps the events that put something else in a name's place.
func (e *echo) take(events []watch.Event) {
	var kept []watch.Event
	for _, event := range events {
		if event.Name != "" && event.What&(watch.Created|watch.Removed) != 0 {
			kept = append(kept, event)
		}
	}
	if len(kept) == 0 {
		return
	}
	e.mu.Lock()
	if e.count+len(kept) > maxEchoes {
		e.waiting, e.count, kept = nil, 0, nil
	}
	e.count += len(kept)
	e.waiting = append(e.waiting, heard{time.Now().Add(e.delay), kept})
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// run repeats until ctx ends.
func (e *echo) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.more:
		case <-timer.C:
		}
		for _, h := range e.due(timer) {
			if len(h.events) == 0 {
				e.lost()
				continue
			}
			e.again(h.events)
		}
	}
}

// due takes what is due and sets the timer for the rest.
func (e *echo) due(timer *time.Timer) (now []heard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := time.Now()
	for len(e.waiting) > 0 && !at.Before(e.waiting[0].due) {
		e.count -= len(e.waiting[0].events)
		now = append(now, e.waiting[0])
		e.waiting = e.waiting[1:]
	}
	if len(e.waiting) > 0 {
		timer.Reset(e.waiting[0].due.Sub(at))
	}
	return now
}
