package ignore

import (
	"fmt"
	"strings"
	"sync"
)

// MaxTotal is how many bytes of memory the ignore files of one Rules may take, all
// together. A pattern takes about 100 bytes more than its text.
const MaxTotal = 32 << 20

// A Verdict is what the rules say of a path.
type Verdict uint8

// The verdicts.
const (
	None     Verdict = iota // no pattern matches
	Ignored                 // the deciding pattern ignores it
	Included                // the deciding pattern begins with "!"
)

// Rules are all ignore rules of one work tree. The zero Rules has none. Every
// method is safe for concurrent use.
//
// Paths are relative to the work tree, clean, separated by "/", and may hold any
// bytes; "" is the work tree itself. Of the patterns that match a path the last one
// of the first list that has one decides:
//
//	.gitignore of the path's directory
//	... of each directory above it, up to the work tree
//	info/exclude
//	the file named by core.excludesFile
//
// and nothing below an ignored directory can be included again.
type Rules struct {
	mu      sync.RWMutex // guards what follows; Lists are immutable
	global  List
	exclude List
	dirs    map[string]List
	total   int // the sizes of all lists
}

// SetGlobal replaces the list of core.excludesFile. Errors are those of Set.
func (r *Rules) SetGlobal(data []byte) error {
	return r.replace(data, func(l List) List { return swap(&r.global, l) })
}

// SetExclude replaces the list of info/exclude. Errors are those of Set.
func (r *Rules) SetExclude(data []byte) error {
	return r.replace(data, func(l List) List { return swap(&r.exclude, l) })
}

// Set replaces the list of dir with the content of its .gitignore. After an error,
// which is always ErrTooLarge, the old list stands.
func (r *Rules) Set(dir string, data []byte) error {
	return r.replace(data, func(l List) List {
		old := r.dirs[dir]
		if r.dirs == nil {
			r.dirs = map[string]List{}
		}
		r.dirs[dir] = l
		if l.size == 0 {
			delete(r.dirs, dir)
		}
		return old
	})
}

// Remove drops the list of dir, whose .gitignore is gone.
func (r *Rules) Remove(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total -= r.dirs[dir].size
	delete(r.dirs, dir)
}

// replace parses data and lets put, called with mu held, exchange it for the old list.
func (r *Rules) replace(data []byte, put func(List) (old List)) error {
	list, err := Parse(data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := put(list)
	r.total += list.size - old.size
	if r.total > MaxTotal {
		put(old)
		r.total += old.size - list.size
		return fmt.Errorf("ignore files that take more than %d bytes of memory: %w", MaxTotal, ErrTooLarge)
	}
	return nil
}

func swap(at *List, l List) (old List) {
	old, *at = *at, l
	return old
}

// Match returns what the rules say of name in the directory dir, provided that no
// directory on the way down to and with dir is ignored. It is for callers that
// keep that knowledge with each directory; others ask Ignored.
func (r *Rules) Match(dir, name string, isDir bool) Verdict {
	path := name
	if dir != "" {
		path = dir + "/" + name
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.match(path, isDir)
}

// Ignored reports whether the path, or a directory above it, is ignored. The work
// tree itself never is.
func (r *Rules) Ignored(path string, isDir bool) bool {
	if path == "" {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := range len(path) {
		if path[i] == '/' && r.match(path[:i], true) == Ignored {
			return true
		}
	}
	return r.match(path, isDir) == Ignored
}

// match asks the lists in their order of precedence. mu is held.
func (r *Rules) match(path string, isDir bool) Verdict {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for end := len(path) - len(name); end > 0 && len(r.dirs) > 0; {
		dir := path[:end-1]
		if list, ok := r.dirs[dir]; ok {
			if v := list.verdict(path[end:], name, isDir); v != None {
				return v
			}
		}
		end = strings.LastIndexByte(dir, '/') + 1
	}
	for _, list := range [...]List{r.dirs[""], r.exclude, r.global} {
		if v := list.verdict(path, name, isDir); v != None {
			return v
		}
	}
	return None
}
