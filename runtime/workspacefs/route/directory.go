package route

import (
	"sync/atomic"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// A mode is how the names of a directory are judged.
type mode uint8

const (
	open      mode = iota // one by one
	masked                // everything transient but what is tracked
	sealed                // everything as the host has it
	held                  // everything held
	transient             // everything transient
	git                   // by gitrules
)

type directory struct {
	rules  *Policy
	parent *directory // nil for the root and for git directories outside
	path   string
	mode   mode
	place  gitrules.Place // when mode is git
	// hasHead says that the host has an entry HEAD here: what completes a bare
	// repository is held.
	hasHead bool
	holds   *kind  // the rule for everything below, of a kind that runs
	why     string // when mode is not open
	state   atomic.Pointer[state]
}

// state is what the rules in force say of a directory.
type state struct {
	generation uint64
	repo       *repo
	rel        string // path of the directory in its repository
	// pinned and current say that the directory is ignored, by what the host wrote and
	// by what is written now.
	pinned, current bool
	above           bool // something protected may lie below
}

func (d *directory) Path() string { return d.path }

func (r *Policy) newRoot() *directory {
	look := func(name string) Kind { return r.config.Look(name) }
	d := &directory{rules: r, hasHead: look("HEAD") != None}
	if gitrules.IsRepository(gitLook(look)) {
		d.mode, d.place, d.why = git, placeOf(look), whyBare
	}
	return d
}

// Enter returns the directory name of dir, which has the given verdict.
func (r *Policy) Enter(dir Directory, name string, verdict Verdict, look Look) Directory {
	parent := dir.(*directory)
	d := &directory{rules: r, parent: parent, path: join(parent.path, name), why: verdict.Why}
	switch verdict.Class {
	case Held:
		d.mode = held
	case Transient:
		d.mode = transient
	case Shared:
		r.enterShared(d, name, verdict, look)
	default:
		d.mode = sealed
	}
	return d
}

func (r *Policy) enterShared(d *directory, name string, verdict Verdict, look Look) {
	parent := d.parent
	switch {
	case parent.mode == git:
		d.mode, d.place = git, gitrules.Enter(parent.judges(name), name, gitrules.Class(verdict.Class), gitLook(look))
		return
	case verdict.Git:
		d.mode, d.place = git, gitrules.Main
		r.Found(d.path)
		return
	case gitrules.IsRepository(gitLook(look)):
		d.mode, d.place, d.why = git, placeOf(look), whyBare
		r.Found(d.path + "/" + "HEAD")
		return
	case parent.mode == masked || r.masks.match(fold(name)):
		d.mode = masked
	}
	d.hasHead = look("HEAD") != None
	d.holds = subtreeOf(parent, name)
	r.load(d, look)
}

// judges returns the place that name is judged in: the administrative directory of the
// work tree that the workspace is stands among those of others.
func (d *directory) judges(name string) gitrules.Place {
	if d.place == gitrules.OtherTrees && d.rules.config.Admin == "worktrees/"+name {
		return gitrules.Worktrees
	}
	return d.place
}

// placeOf tells a repository from the administrative directory of a linked work tree.
func placeOf(look Look) gitrules.Place {
	if look("objects") == None {
		return gitrules.Linked
	}
	return gitrules.Main
}

func gitLook(look Look) func(string) gitrules.Kind {
	return func(name string) gitrules.Kind { return gitrules.Kind(look(name)) }
}

// now returns the state by the rules in force.
func (d *directory) now() *state {
	generation := d.rules.generation.Load()
	if s := d.state.Load(); s != nil && s.generation == generation {
		return s
	}
	s := d.compute(generation)
	d.state.Store(s)
	return s
}

func (d *directory) compute(generation uint64) *state {
	r := d.rules
	if d.parent == nil {
		return &state{generation: generation, repo: r.top, above: true}
	}
	up, s := d.parent.now(), &state{generation: generation}
	_, name := split(d.path)
	r.mu.RLock()
	defer r.mu.RUnlock()
	s.above = up.above && r.above[d.path]
	if nested := r.repos[d.path]; nested != nil {
		s.repo = nested
		return s
	}
	s.repo, s.rel = up.repo, join(up.rel, name)
	s.pinned = up.pinned || r.environment(name) || up.repo.pinned.ignores(up.rel, name, Dir)
	s.current = up.current || up.repo.differs() && up.repo.current.ignores(up.rel, name, Dir)
	return s
}
