package route

import (
	"fmt"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// spares fails when an index that is to become the one of git directory d has a path
// under which the host has something the sandbox is not shown, or not to change. Git
// takes a path of its index for its own: the host's next `git checkout .` would put
// what the sandbox chose over it. Paths that count as tracked are git's already.
func (r *Policy) spares(d *directory, content []byte) error {
	r.mu.RLock()
	var owner *repo
	for _, p := range r.all() {
		if p.gitDir == d.path {
			owner = p
		}
	}
	var trusted []string
	if owner != nil {
		trusted = owner.trusted
	}
	r.mu.RUnlock()
	if owner == nil {
		return nil // a submodule's or another work tree's, whose files are not here
	}
	set, err := gitindex.Tracked(content, r.idSize(d))
	if err != nil {
		return err
	}
	w := &walk{rules: r, dirs: map[string]Directory{"": r.Root()}, kinds: map[string]Kind{"": Dir}}
	for path := range set.All() {
		path = strings.TrimSuffix(path, "/") // a directory of a sparse index
		if _, counts := slices.BinarySearch(trusted, path); counts {
			continue
		}
		if why := w.covers(join(owner.root, path)); why != "" {
			return fmt.Errorf("%w: index with the path %q, which the host has and the sandbox has not (%s)", gitrules.ErrUnsafe, path, why)
		}
	}
	return nil
}

// walk goes down to paths of the host and remembers the directories it came through.
type walk struct {
	rules *Policy
	dirs  map[string]Directory
	kinds map[string]Kind // of directories, and of what is in place of one
}

// covers says why a file at path would cover something that is not shared, "" when it
// would not: what is there, or the file in place of a directory above it.
func (w *walk) covers(path string) string {
	if w.rules.hidden[fold(path)] {
		return "Lazaret's own configuration"
	}
	kind := w.rules.config.Look(path)
	for kind == None && path != "" {
		path, _ = split(path)
		if kind = w.kind(path); kind == Dir {
			return ""
		}
	}
	if path == "" {
		return ""
	}
	dir, name := split(path)
	if v := w.rules.Name(w.enter(dir), name, Names{Host: kind}); v.Class != Shared {
		return v.Why
	}
	return ""
}

func (w *walk) kind(path string) Kind {
	kind, known := w.kinds[path]
	if !known {
		kind = w.rules.config.Look(path)
		w.kinds[path] = kind
	}
	return kind
}

func (w *walk) enter(path string) Directory {
	if d, known := w.dirs[path]; known {
		return d
	}
	above, name := split(path)
	parent := w.enter(above)
	verdict := w.rules.Name(parent, name, Names{Host: w.kind(path)})
	d := w.rules.Enter(parent, name, verdict, func(n string) Kind { return w.rules.config.Look(join(path, n)) })
	w.dirs[path] = d
	return d
}
