package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"

	"lazaret.dev/lazaret/runtime/workspacefs/freshness"
	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
	"lazaret.dev/lazaret/runtime/workspacefs/survey"
)

// server is the workspace as it is served.
type server struct {
	tell    func(link.Message, ...*os.File) error
	storage storage
	policy  *route.Policy
	keeper  *keeper
	obeyed  *obeyed
	shower  *shower
	rules   []*follower

	mu    sync.Mutex // guards trees
	trees []*fusefs.FS

	ctx    context.Context
	cancel context.CancelFunc
	errs   chan error // of the last writings
}

// serve is the Server of the product.
func serve(r *link.Resources, tell func(link.Message, ...*os.File) error) (end func() error, err error) {
	s := &server{tell: tell, shower: newShower(tell), errs: make(chan error, 2)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	step := func(name string) error { return tell(link.Message{Kind: link.KindStep, Text: name}) }
	if err := step("Domain storage"); err != nil {
		return nil, err
	}
	if s.storage, err = openStorage(r.Store); err != nil {
		return nil, err
	}
	if err := step("rules"); err != nil {
		return nil, err
	}
	var facts survey.Facts
	if s.policy, facts, err = readRules(r, s.storage.pins); err != nil {
		return nil, err
	}
	s.obeyed = newObeyed(s.policy, r, facts.Runs)
	if err := step("file system"); err != nil {
		return nil, err
	}
	pins := &journal.Writer{Record: s.storage.pins, Save: journal.SaveIn(r.Store, journal.PinsName), Failed: warn}
	s.keeper = &keeper{policy: s.policy, pins: s.storage.pins, flush: pins.Flush}
	if err := s.workspace(r); err != nil {
		return nil, err
	}
	for i := range r.GitDirs {
		if err := s.outside(r, i); err != nil {
			return nil, err
		}
	}
	s.keep(&journal.Writer{Record: s.storage.journal, Save: journal.SaveIn(r.Store, journal.FileName), Failed: warn})
	s.keep(pins)
	return s.end, nil
}

// workspace serves the two connections of the workspace.
func (s *server) workspace(r *link.Resources) error {
	host := tree{r.Host}
	rules := newFollower(s.keeper, host.read, inside)
	fresh := freshness.New(freshness.Config{Rules: rules, Read: host.read, Poke: s.poke, Warn: warn})
	fs, err := fusefs.New(fusefs.Config{
		Host: r.Host, Held: s.storage.held, Transient: r.Transient, Router: s.policy, Vetter: s.policy,
		Events: &recorder{host: host, journal: s.storage.journal, rules: rules, mounts: s.shower, rename: sameName},
		OnDirectory: func(handle uint64, at string, dir int) error {
			s.shower.found(at, dir)
			s.obeyed.found(at, dir)
			return fresh.OnDirectory(handle, at, dir)
		},
		OnForget: fresh.OnForget,
	})
	if err != nil {
		return err
	}
	s.shower.git = func(path string) error { return s.git(fs, path, 0) }
	s.follow(rules, fresh, fs, fs)
	s.answer(fs, r.Tree, fusefs.Tree)
	s.answer(fs, r.Git, fusefs.Git)
	if host.look(".git") == route.Dir {
		if err := s.git(fs, ".git", 0); err != nil {
			return err
		}
	}
	k := mirror{policy: s.policy, host: host, show: s.shower.show}
	if err := k.walk(s.policy.Root(), s.storage.held); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	go s.shower.run()
	return nil
}

// outside serves a git directory that lies outside the workspace, by the same rules.
func (s *server) outside(r *link.Resources, i int) error {
	above, err := makeDir(r.Store, "outside")
	if err != nil {
		return err
	}
	defer above.Close()
	own, err := makeDir(above, strconv.Itoa(i))
	if err != nil {
		return err
	}
	passing, err := makeDir(r.Transient, "outside-"+strconv.Itoa(i))
	if err != nil {
		return err
	}
	host, names := tree{r.GitDirs[i]}, outside{adminOf(r)}
	rules := newFollower(s.keeper, names.reader(host), outsideOnly)
	fresh := freshness.New(freshness.Config{Rules: rules, Read: names.reader(host), Poke: s.poke, Warn: warn})
	fs, err := fusefs.New(fusefs.Config{
		Host: r.GitDirs[i], Held: own, Transient: passing, Router: gitRouter{s.policy}, Vetter: s.policy,
		Events:      &recorder{host: host, rules: rules, rename: names.name},
		OnDirectory: fresh.OnDirectory, OnForget: fresh.OnForget,
	})
	if err != nil {
		return err
	}
	s.follow(rules, fresh, fs, outsideTree{fs, names})
	s.answer(fs, r.GitDirFuses[i], fusefs.Git)
	return s.git(fs, "", i+1, path.Join(names.admin, "index"))
}

// git has RS show a git directory through the connection that answers opens.
func (s *server) git(fs *fusefs.FS, path string, outside int, watch ...string) error {
	id, err := fs.AddGitDir(path)
	if err != nil {
		return err
	}
	g := link.Git{Name: []byte(strconv.Itoa(id)), Outside: uint32(outside)}
	for _, name := range append([]string{"index", "info/exclude"}, watch...) {
		g.Watch = append(g.Watch, []byte(name))
	}
	if outside == 0 {
		g.Path = []byte(path)
	}
	return s.tell(link.Message{Kind: link.KindGit, Git: g})
}

// follow keeps one file system up to date, with the host and with its rules. A change
// of rules concerns all of them.
func (s *server) follow(rules *follower, fresh *freshness.Follower, fs *fusefs.FS, tree freshness.Tree) {
	s.mu.Lock()
	s.trees = append(s.trees, fs)
	s.mu.Unlock()
	s.rules = append(s.rules, rules)
	rules.protect = s.obeyed.changed
	rules.outdated = func() {
		s.mu.Lock()
		trees := slices.Clone(s.trees)
		s.mu.Unlock()
		for _, fs := range trees {
			fs.InvalidateAll()
		}
	}
	go rules.run(s.ctx)
	go fresh.Run(s.ctx, tree)
}

// poke has the guest poked for what the host changed. It fails only without RS.
func (s *server) poke(path string) error {
	return s.tell(link.Message{Kind: link.KindChanged, Path: []byte(path)})
}

// answer serves one connection. Its end is the daemon's.
func (s *server) answer(fs *fusefs.FS, connection *os.File, view fusefs.View) {
	go func() {
		err := fs.Serve(connection, view)
		if s.ctx.Err() != nil {
			return
		}
		warn(fmt.Errorf("a connection has ended: %w", err))
		os.Exit(statusFailed)
	}()
}

func (s *server) keep(w *journal.Writer) {
	go func() { s.errs <- w.Run(s.ctx) }()
}

// end writes what is kept.
func (s *server) end() error {
	for _, rules := range s.rules {
		rules.drain()
	}
	err := s.keeper.end()
	s.cancel()
	return errors.Join(err, <-s.errs, <-s.errs)
}
