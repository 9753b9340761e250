package apptest

import (
	"context"
	"sync"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/views"
)

// Changes is a fake of what sandboxes did in workspaces.
type Changes struct {
	mu    sync.Mutex
	now   views.Changes
	looks int
	seen  int // changes that were recorded as looked at, over all
	err   error
	gate  chan struct{}
}

// Set says what the next look finds.
func (c *Changes) Set(now views.Changes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Fail makes looks, and recording them, fail.
func (c *Changes) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Hold makes every look wait until release is called.
func (c *Changes) Hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.gate = gate
	return func() { close(gate) }
}

// Look returns what was set. Recorded as seen, it is gone.
func (c *Changes) Look(ctx context.Context, _ domain.ID) (views.Changes, func() error, error) {
	c.mu.Lock()
	c.looks++
	found, err, gate := c.now, c.err, c.gate
	c.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return views.Changes{}, nil, ctx.Err()
		}
	}
	return found, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err != nil {
			return c.err
		}
		c.seen += len(found.Items)
		c.now.Items = c.now.Items[min(len(found.Items), len(c.now.Items)):]
		return nil
	}, err
}

// Seen returns how many changes were recorded as looked at.
func (c *Changes) Seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// Looks returns how often somebody looked.
func (c *Changes) Looks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}
