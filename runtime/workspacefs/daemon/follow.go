package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// maxFollowed bounds the rule files that wait. Dropping one would let what the sandbox
// wrote pass for the developer's at the next start, so one more ends the daemon.
const maxFollowed = 100_000

// follower keeps the rules and their pins up to date with what the sandbox writes.
type follower struct {
	policy   *route.Policy
	pins     *journal.Pins
	read     func(path string, limit int64) ([]byte, error)
	outdated func() // answers given before may be different now
	// protect is called when the host's git configuration may have changed, and says
	// whether any answer did.
	protect func() bool

	mu      sync.Mutex // guards waiting
	waiting map[string]struct{}
	more    chan struct{} // one element: something waits
	acting  sync.Mutex    // one drain at a time
}

func newFollower(policy *route.Policy, pins *journal.Pins, read func(string, int64) ([]byte, error)) *follower {
	return &follower{policy: policy, pins: pins, read: read, waiting: map[string]struct{}{}, more: make(chan struct{}, 1)}
}

// decides says whether a file of that name may change rules.
func decides(name string) bool {
	switch path.Base(name) {
	case ".gitignore", "index", "exclude", ".git", "config":
		return true
	}
	return false
}

// tell takes a path the sandbox changed, by its name in the rules. It never waits.
func (f *follower) tell(name string) {
	if !decides(name) {
		return
	}
	f.mu.Lock()
	f.waiting[name] = struct{}{}
	full := len(f.waiting) > maxFollowed
	f.mu.Unlock()
	if full {
		warn(errors.New("the sandbox changes ignore files faster than they can be followed"))
		os.Exit(statusFailed)
	}
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.more:
			f.drain()
		}
	}
}

// drain follows everything that waits.
func (f *follower) drain() {
	f.acting.Lock()
	defer f.acting.Unlock()
	f.mu.Lock()
	names := f.waiting
	f.waiting = map[string]struct{}{}
	f.mu.Unlock()
	if len(names) == 0 {
		return
	}
	outdated := false
	for name := range names {
		changed, err := f.policy.GuestChanged(name, func(limit int64) ([]byte, error) { return f.read(name, limit) })
		if err != nil {
			warn(fmt.Errorf("follow a rule file of the sandbox: %w", err))
		}
		outdated = outdated || changed
	}
	f.save()
	if outdated {
		f.outdated()
	}
}

// HostChanged implements freshness.Rules.
func (f *follower) HostChanged(name string, read func(int64) ([]byte, error)) (outdated bool, err error) {
	if !decides(name) {
		return false, nil
	}
	f.acting.Lock()
	defer f.acting.Unlock()
	outdated, err = f.policy.HostChanged(name, read)
	if path.Base(name) == "config" {
		outdated = f.protect() || outdated
	}
	f.save()
	if outdated {
		f.outdated()
	}
	return outdated, err
}

// save keeps what must outlive the generation. Where it does not fit the daemon ends.
func (f *follower) save() {
	if err := savePins(f.policy, f.pins); err != nil {
		warn(err)
		os.Exit(statusFailed)
	}
}
