package route

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// Policy is the Router of one workspace, and hears of its Changes.
type Policy struct {
	config         Config
	masks, secrets globs
	hidden         map[string]bool
	protected      atomic.Pointer[map[string]bool] // Config.Protected
	root           *directory
	generation     atomic.Uint64

	// changing is held while a change is read and applied, so that changes come in the
	// order they are told. It is taken before mu.
	changing sync.Mutex

	mu      sync.RWMutex     // guards what follows, and the contents of every repo
	top     *repo            // never changes
	repos   map[string]*repo // nested ones, by their root
	above   map[string]bool  // directories above something protected
	written map[version]bool // contents of rule files that the sandbox wrote
	past    map[string]*repo // nested ones that are gone, where the sandbox wrote rules
	touched map[string]bool  // rule files that it may have written in this generation
}

// Root returns the workspace's own directory.
func (r *Policy) Root() Directory { return r.root }

// Generation counts changes of rules.
func (r *Policy) Generation() uint64 { return r.generation.Load() }

// Name decides about one name of a directory.
func (r *Policy) Name(dir Directory, name string, found Names) Verdict {
	v := r.decide(dir.(*directory), name, found)
	v.Rule = v.Class == Shared && (name == ".gitignore" || v.Git && (name == "index" || name == "exclude"))
	return v
}

func (r *Policy) decide(d *directory, name string, found Names) Verdict {
	switch d.mode {
	case held:
		return Verdict{Class: Held, Why: d.why}
	case transient:
		return Verdict{Class: Transient, Why: d.why}
	case sealed:
		return seal(found, d.why)
	case git:
		return inGit(d, name, found)
	}
	return r.inTree(d, name, found)
}

// GitDirectory returns the directory of the git directory outside the workspace. Where
// the workspace is a linked work tree, what others have of their own is read-only.
func (r *Policy) GitDirectory() Directory {
	place := gitrules.Main
	if r.config.Admin != "" {
		place = gitrules.Common
	}
	return &directory{rules: r, path: Outside, mode: git, place: place}
}

// Found tells the rules that the host has a git directory, or the pointer to one, at
// path: what lies above stays where it is. Entering a directory does the same.
func (r *Policy) Found(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pinAbove(path) {
		r.generation.Add(1)
	}
}

// Protect replaces Config.Protected, whose source is the host's git configuration. It
// reports whether any answer changed.
func (r *Policy) Protect(paths []string) (outdated bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := set(paths)
	if maps.Equal(next, *r.protected.Load()) {
		return false
	}
	r.protected.Store(&next)
	for path := range next {
		r.pinAbove(path)
	}
	r.generation.Add(1)
	return true
}

// RuleFiles are the rule files that Changes has to be told of again when events were
// lost.
func (r *Policy) RuleFiles() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := r.top.ruleFiles(nil)
	for _, p := range r.repos {
		list = p.ruleFiles(list)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pinAbove pins every directory above path. r.mu is held, or r is being made.
func (r *Policy) pinAbove(path string) (changed bool) {
	for dir, _ := split(path); dir != ""; dir, _ = split(dir) {
		if r.above[dir] {
			return changed
		}
		r.above[dir], changed = true, true
	}
	return changed
}

// Check says whether content may become the file name of dir by a rename, where Name
// gave a Vetted verdict. Errors: gitrules.ErrUnsafe.
func (r *Policy) Check(dir Directory, name string, content []byte) error {
	d := dir.(*directory)
	if err := gitrules.Vet(d.place, name, content, r.idSize(d)); err != nil || name != "index" {
		return err
	}
	return r.spares(d, content)
}

// idSize returns the size of object ids in the repository that a directory of a git
// directory is of: the host's configuration says it.
func (r *Policy) idSize(d *directory) int {
	for d.place != gitrules.Main && d.parent != nil && d.parent.mode == git {
		d = d.parent
	}
	if strings.HasPrefix(d.path, Outside) {
		return idSizeOf(r.config.GitConfig)
	}
	config, _, err := r.read(join(d.path, "config"), gitconfig.MaxFile)
	if err != nil {
		return gitindex.SHA1
	}
	return idSizeOf(config)
}

// idSizeOf returns the size of object ids by a repository's configuration, in bytes.
func idSizeOf(config []byte) int {
	file, err := gitconfig.Parse(config)
	if err != nil {
		return gitindex.SHA1
	}
	formats := file.Values("extensions", "", "objectFormat")
	if len(formats) > 0 && strings.EqualFold(formats[len(formats)-1], "sha256") {
		return gitindex.SHA256
	}
	return gitindex.SHA1
}

// seal is the verdict inside what is read-only as a whole.
func seal(found Names, why string) Verdict {
	if found.Host == None || found.Host == Other {
		return Verdict{Class: Absent, Why: why}
	}
	return Verdict{Class: ReadOnly, Pinned: found.Host == Dir, Why: why}
}

func inGit(d *directory, name string, found Names) Verdict {
	v := gitrules.Decide(d.judges(name), name, gitrules.Kind(found.Host), gitrules.Kind(found.Own))
	return Verdict{Class: Class(v.Class), Git: true, Pinned: v.Pinned, Vetted: v.Vetted, Kept: v.Kept, Why: v.Why}
}
