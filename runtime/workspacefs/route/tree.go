package route

import (
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// Reasons that more than one place gives.
const (
	whyBare    = "a bare repository"
	whyNewGit  = "a git directory made in the sandbox"
	whyIgnored = "ignored by git"
	whySecret  = "untracked secret"
	whyMask    = "masked directory"
)

// inTree decides about a name of the work tree. The order is that of
// docs/workspace.md.
func (r *Policy) inTree(d *directory, name string, found Names) Verdict {
	s := d.now()
	if v, decided := r.byGit(d, s, name, found); decided {
		return v
	}
	folded := fold(name)
	if d.mode == masked || r.masks.match(folded) {
		return r.maskedName(s, name, found)
	}
	v := r.ordinary(d, s, name, folded, found)
	if s.above && found.Host == Dir {
		r.mu.RLock()
		v.Pinned = r.above[join(d.path, name)]
		r.mu.RUnlock()
	}
	return v
}

// byGit applies the rules 1 to 4: what is hidden, and what git takes for its own.
func (r *Policy) byGit(d *directory, s *state, name string, found Names) (Verdict, bool) {
	if s.above {
		switch path := join(d.path, name); {
		case r.hidden[fold(path)]:
			return Verdict{Class: Absent, Why: "Lazaret's own configuration"}, true
		case (*r.protected.Load())[path]:
			return seal(found, "the host's git configuration refers to it"), true
		}
	}
	switch {
	case strings.HasPrefix(name, Reserved):
		return Verdict{Class: Absent, Why: "Lazaret is writing it"}, true
	case name == gitrules.Git:
		return dotGit(found), true
	case gitrules.Alias(name):
		return seal(found, "another spelling of .git"), true
	case found.Host == None && gitrules.Completes(name) && (name == "HEAD" || d.hasHead):
		return Verdict{Class: Held, Why: "would complete a bare repository"}, true
	}
	return Verdict{}, false
}

func dotGit(found Names) Verdict {
	switch found.Host {
	case None:
		return Verdict{Class: Held, Why: whyNewGit}
	case Dir:
		return Verdict{Class: Shared, Git: true, Pinned: true, Why: "git directory"}
	case Other:
		return Verdict{Class: Absent, Git: true, Why: "git directory pointer"}
	}
	return Verdict{Class: ReadOnly, Git: true, Pinned: true, Why: "git directory pointer"}
}

// maskedName decides inside a masked directory, and about the directory itself.
func (r *Policy) maskedName(s *state, name string, found Names) Verdict {
	path := join(s.rel, name)
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case found.Host == None:
	case found.Host == Dir && s.repo.trackedBelow(path):
		return Verdict{Class: Shared, Pinned: true, Why: whyMask}
	case found.Host != Dir && s.repo.tracked(path):
		return Verdict{Class: ReadOnly, Why: "tracked, in a masked directory"}
	}
	return Verdict{Class: Transient, Why: whyMask}
}

// ordinary applies the rules 6 to 9.
func (r *Policy) ordinary(d *directory, s *state, name, folded string, found Names) Verdict {
	if r.secret(folded, found) && !r.isTracked(s, name) {
		if found.Host != None && found.Own == None {
			return Verdict{Class: StandIn, Why: whySecret}
		}
		return Verdict{Class: Held, Why: whySecret}
	}
	k := d.holds
	if k == nil {
		k = kindOf(d, folded)
	}
	hides := r.hides(s, name, found)
	if k != nil && k.guards && !r.isTracked(s, name) {
		switch {
		case found.Host == None || hides:
			return Verdict{Class: Held, Why: k.why}
		case found.Host != Dir:
			return Verdict{Class: ReadOnly, Why: k.why}
		}
	}
	if hides {
		return Verdict{Class: Held, Why: whyIgnored}
	}
	if k != nil {
		return Verdict{Class: Shared, Mark: k.mark, Why: k.why}
	}
	return Verdict{Class: Shared, Why: "the host's own"}
}

// secret reports whether a name looks like a secret's, for what is no directory. A
// template of one, which is meant to be read, does not.
func (r *Policy) secret(folded string, found Names) bool {
	if found.Host == Dir || found.Host == None && found.Own == Dir || !r.secrets.match(folded) {
		return false
	}
	for _, end := range [...]string{".example", ".sample", ".template"} {
		if strings.HasSuffix(folded, end) && !r.secrets.exact[folded] {
			return false
		}
	}
	return true
}

// isTracked says whether the host has name among its tracked paths: as a file, a
// submodule, or a directory above such.
func (r *Policy) isTracked(s *state, name string) bool {
	path := join(s.rel, name)
	r.mu.RLock()
	defer r.mu.RUnlock()
	return s.repo.tracked(path) || s.repo.trackedBelow(path)
}

// hides says whether a name is ignored and not tracked. What the host's rules
// ignore is hidden whoever has it. What only the sandbox's own edits ignore is held
// when it is new; what the host has already stays as it was.
func (r *Policy) hides(s *state, name string, found Names) bool {
	if r.config.Ignored == IgnoredShared {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s.pinned || r.environment(name) && anyDirectory(found) || s.repo.pinned.ignoresAny(s.rel, name, found) {
		path := join(s.rel, name)
		return !s.repo.tracked(path) && !s.repo.trackedBelow(path)
	}
	if found.Host != None { // whatever the sandbox's rules cost to ask, nobody pays
		return false
	}
	if !s.current && (!s.repo.differs() || !s.repo.current.ignoresAny(s.rel, name, found)) {
		return false
	}
	path := join(s.rel, name)
	return !s.repo.tracked(path) && !s.repo.trackedBelow(path) && !s.repo.now.Has(path) && !s.repo.now.Below(path)
}

// environment says whether a directory of that name holds programs that host tools
// start, ignored or not.
func (r *Policy) environment(name string) bool {
	return r.config.Ignored == IgnoredDomain && environments[fold(name)]
}

// anyDirectory reports whether an entry is, or could stand for, a directory.
func anyDirectory(found Names) bool {
	return found.Host == Dir || found.Host == Symlink || found.Own == Dir || found.Own == Symlink
}
