package freshness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/notify"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// Tree is the file system.
type Tree interface {
	// HandleChanged has the kernel forget a name, "" for the directory itself.
	HandleChanged(handle uint64, name string)
	// HandlePath is where the directory is now, "" for the workspace itself.
	HandlePath(handle uint64) (path string, ok bool)
	// HandleShows tells whether the sandbox is shown what the host has under a name.
	HandleShows(handle uint64, name string, directory bool) bool
	InvalidateAll()
}

// Rules follow what the host does to the files they are read from.
type Rules interface {
	// RuleFiles are the files that HostChanged has to be told of again after events were
	// lost.
	RuleFiles() []string
	HostChanged(path string, read func(limit int64) ([]byte, error)) (outdated bool, err error)
}

// Config is what a Follower needs.
type Config struct {
	Rules Rules
	// Read returns the content of a regular file of the host; see route.Config.
	Read func(path string, limit int64) ([]byte, error)
	// Poke asks for a poke of a path relative to the workspace, "." for itself. It may
	// block; an error ends all pokes.
	Poke func(path string) error
	// Warn is told what a person should know; it may be called from several goroutines.
	Warn func(error)

	Watch  watch.Options // Degraded is taken
	Notify notify.Options
}

// Follower connects them. The methods without Run may overlap and be called before it.
type Follower struct {
	config   Config
	notifier *notify.Notifier

	mu      sync.Mutex // protects watcher
	watcher *watch.Watcher
}

// New makes a Follower. It does so too where nothing can be watched, and warns.
func New(config Config) *Follower {
	f := &Follower{config: config, notifier: notify.New(config.Notify)}
	config.Watch.Degraded = config.Warn
	w, err := watch.New(config.Watch)
	if err != nil {
		config.Warn(err)
		return f
	}
	f.watcher = w
	return f
}

func (f *Follower) current() *watch.Watcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watcher
}

// OnDirectory watches a directory that is about to be looked into, behind an O_PATH
// descriptor. An error says that it is not watched.
func (f *Follower) OnDirectory(handle uint64, _ string, dir int) error {
	w := f.current()
	if w == nil {
		return errUnwatched
	}
	return w.Add(dir, handle)
}

// OnForget ends that; dir is -1 where the directory is not open.
func (f *Follower) OnForget(handle uint64, dir int) {
	if w := f.current(); w != nil {
		_ = w.Remove(handle, dir) // the mark stays, which costs a little memory
	}
}

var errUnwatched = fmt.Errorf("watch a directory: %w", watch.ErrUnsupported)

// blindTime is how often everything is forgotten when watching has failed underway.
const blindTime = 2 * time.Second

// Run follows until ctx ends, and has then given up the watch. tree may have been
// calling OnDirectory before.
func (f *Follower) Run(ctx context.Context, tree Tree) {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() {
		if err := f.notifier.Run(ctx, f.config.Poke); err != nil {
			f.config.Warn(fmt.Errorf("poke the sandbox: %w", err))
		}
	})
	w := f.current()
	if w == nil {
		<-ctx.Done()
		return
	}
	s := newSink(f, tree)
	parts.Go(func() { s.soon.run(ctx) })
	parts.Go(func() { s.late.run(ctx) })
	err := w.Run(ctx, s)
	f.mu.Lock()
	f.watcher = nil
	f.mu.Unlock()
	_ = w.Close() // nothing can be done about it, and nothing comes of it
	if err != nil {
		f.config.Warn(err)
		forgetAlways(ctx, tree)
	}
}

// forgetAlways stands in for the watch on directories whose caches are long.
func forgetAlways(ctx context.Context, tree Tree) {
	tick := time.NewTicker(blindTime)
	defer tick.Stop()
	for {
		tree.InvalidateAll()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sink is the Follower as the Watcher sees it.
type sink struct {
	f          *Follower
	tree       Tree
	soon, late *echo
}

func newSink(f *Follower, tree Tree) *sink {
	s := &sink{f: f, tree: tree}
	s.late = newEcho(lateTime, s.forget, tree.InvalidateAll)
	s.soon = newEcho(soonTime, func(events []watch.Event) {
		s.forget(events)
		s.late.take(events)
	}, func() {
		tree.InvalidateAll()
		f.notifier.Overflow()
	})
	return s
}

const content = watch.Created | watch.Removed | watch.Content

func (s *sink) Changed(events []watch.Event) {
	outdated := false
	for _, e := range events {
		if dir, ok := s.tree.HandlePath(e.Key); ok && e.Name != "" && e.What&content != 0 {
			outdated = s.rule(join(dir, e.Name)) || outdated
		}
	}
	if outdated {
		s.tree.InvalidateAll()
	}
	s.forget(events)
	s.soon.take(events)
}

// forget has the kernel forget names, and pokes for them.
func (s *sink) forget(events []watch.Event) {
	for _, e := range events {
		s.tree.HandleChanged(e.Key, e.Name)
		s.poke(e)
	}
}

// rule lets the rules follow one path.
func (s *sink) rule(p string) (outdated bool) {
	read := func(limit int64) ([]byte, error) { return s.f.config.Read(p, limit) }
	outdated, err := s.f.config.Rules.HostChanged(p, read)
	if err != nil {
		s.f.config.Warn(err)
	}
	return outdated
}

func (s *sink) poke(e watch.Event) {
	dir, ok := s.tree.HandlePath(e.Key)
	if !ok || strings.HasPrefix(dir, "/") { // a git directory outside is nowhere in the workspace
		return
	}
	if e.Name != "" && s.tree.HandleShows(e.Key, e.Name, e.What&watch.Directory != 0) {
		s.f.notifier.Changed(dir, e.Name, e.What)
	}
}

// ruleNames are the names of files that rules are read from, wherever they lie.
var ruleNames = []string{".gitignore", ".git", "index", "exclude", "config"}

// Overflow: whatever rules are read from may have changed too.
func (s *sink) Overflow() {
	for _, path := range s.f.config.Rules.RuleFiles() {
		s.rule(path)
	}
	if w := s.f.current(); w != nil {
		for _, key := range w.Keys() {
			dir, ok := s.tree.HandlePath(key)
			for _, name := range ruleNames {
				if ok {
					s.rule(join(dir, name))
				}
			}
		}
	}
	s.tree.InvalidateAll()
	s.f.notifier.Overflow()
}

// join keeps what path.Join would clean away: the mark of a git directory outside.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
