package daemon

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// maxFollowed bounds the rule files that wait or are being changed. More changes are
// refused.
const maxFollowed = 100_000

// follower keeps the rules and their pins up to date with what both sides write. What
// the sandbox writes must never pass for the host's, so a file is announced before it
// is changed, and told of after; and before anything of the host's is taken in,
// whatever the sandbox has told is.
type follower struct {
	policy   *route.Policy
	keeper   *keeper
	read     func(path string, limit int64) ([]byte, error)
	ours     func(path string) bool // whether a rule file is one this follower reads
	outdated func()                 // answers given before may be different now
	// protect is called when the host changed what its git obeys, and says whether any
	// answer did.
	protect func(name string) bool

	mu         sync.Mutex          // guards what follows
	waiting    map[string]struct{} // told of, and to be read
	under      map[string]int      // changes under way
	announced  map[string]bool     // pinned before the first change
	complained map[string]bool
	expired    bool          // an announcement changed answers
	more       chan struct{} // one element: something waits

	acting sync.Mutex // one drain at a time; taken before mu, and never while FS locks are held
}

func newFollower(keeper *keeper, read func(string, int64) ([]byte, error), ours func(string) bool) *follower {
	return &follower{policy: keeper.policy, keeper: keeper, read: read, ours: ours, waiting: map[string]struct{}{},
		under: map[string]int{}, announced: map[string]bool{}, complained: map[string]bool{}, more: make(chan struct{}, 1)}
}

func inside(name string) bool { return !strings.HasPrefix(name, route.Outside+"/") }

func outsideOnly(name string) bool { return !inside(name) }

// decides says whether a file of that name may change rules.
func decides(name string) bool {
	switch path.Base(name) {
	case ".gitignore", "index", "exclude", ".git":
		return true
	}
	return false
}

// changing announces a change of the sandbox's to a file, by its name in the rules.
// done tells that it is over. An error refuses it. It is called with locks of the file
// system held, so it may wait for the disk and for nothing else.
func (f *follower) changing(name string) (done func(), err error) {
	if !decides(name) {
		return func() {}, nil
	}
	f.mu.Lock()
	full := len(f.waiting)+len(f.under) >= maxFollowed
	if !full {
		f.under[name]++
	}
	f.mu.Unlock()
	if full {
		return nil, unix.EBUSY
	}
	if err := f.announce(name); err != nil {
		f.changed(name)
		f.complain(name, err)
		return nil, unix.ENOSPC
	}
	return func() { f.changed(name) }, nil
}

// moving is changing for a directory that is renamed: for every rule file below it.
func (f *follower) moving(from, to string) (done func(), err error) {
	var dones []func()
	done = func() {
		for _, f := range dones {
			f()
		}
	}
	for _, name := range f.policy.Moving(from, to) {
		one, err := f.changing(name)
		if err != nil {
			done()
			return nil, err
		}
		dones = append(dones, one)
	}
	return done, nil
}

// announce pins what counts of a file, once.
func (f *follower) announce(name string) error {
	f.mu.Lock()
	known := f.announced[name]
	f.mu.Unlock()
	if known {
		return nil
	}
	outdated, err := f.keeper.expect(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expired = f.expired || outdated
	if err == nil {
		f.announced[name] = true
	}
	return err
}

// changed takes a name the sandbox has changed, or tried to. It never waits.
func (f *follower) changed(name string) {
	f.mu.Lock()
	if f.under[name]--; f.under[name] <= 0 {
		delete(f.under, name)
	}
	f.waiting[name] = struct{}{}
	f.mu.Unlock()
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
	if f.follow() {
		f.outdated()
	}
}

// follow takes in what waits, and reports whether any answer changed. acting is held.
func (f *follower) follow() (outdated bool) {
	f.mu.Lock()
	names := f.waiting
	f.waiting = map[string]struct{}{}
	outdated, f.expired = f.expired, false
	f.mu.Unlock()
	for name := range names {
		changed, err := f.policy.GuestChanged(name, func(limit int64) ([]byte, error) { return f.read(name, limit) })
		if err != nil {
			f.complain(name, fmt.Errorf("follow a rule file of the sandbox: %w", err))
		}
		outdated = outdated || changed
	}
	if len(names) > 0 {
		f.save()
	}
	return outdated
}

var errContested = errors.New("the sandbox is writing it too")

// HostChanged implements freshness.Rules. What both sides write at once counts as the
// sandbox's.
func (f *follower) HostChanged(name string, read func(int64) ([]byte, error)) (outdated bool, err error) {
	if !decides(name) && !obeys(name) {
		return false, nil
	}
	f.acting.Lock()
	defer f.acting.Unlock()
	outdated = f.follow()
	changed, err := f.policy.HostChanged(name, func(limit int64) ([]byte, error) {
		content, err := read(limit)
		if f.contested(name) {
			return nil, errContested
		}
		return content, err
	})
	if errors.Is(err, errContested) {
		changed, err = f.policy.GuestChanged(name, read)
	}
	outdated = outdated || changed
	if obeys(name) {
		outdated = f.protect(name) || outdated
	}
	f.save()
	if outdated {
		f.outdated()
	}
	return outdated, err
}

// contested says that what was just read may be the sandbox's: whatever it has written
// since the last follow is under way or waits.
func (f *follower) contested(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, waits := f.waiting[name]
	return waits || f.under[name] > 0
}

// RuleFiles implements freshness.Rules.
func (f *follower) RuleFiles() (names []string) {
	for _, name := range f.policy.RuleFiles() {
		if f.ours(name) {
			names = append(names, name)
		}
	}
	return names
}

// maxComplaints bounds the files that something is said of: the sandbox could have it
// said for ever.
const maxComplaints = 100

// complain warns of a file once.
func (f *follower) complain(name string, err error) {
	f.mu.Lock()
	first := !f.complained[name] && len(f.complained) < maxComplaints
	if first {
		f.complained[name] = true
	}
	f.mu.Unlock()
	if first {
		warn(err)
	}
}

// save keeps what must outlive a crash. Where it does not fit, what is kept already
// stands: it hides more.
func (f *follower) save() {
	if err := f.keeper.keep(); err != nil {
		warn(err)
	}
}
