package gitindex

import (
	"iter"
	"sort"
	"strings"
)

// A Set holds tracked paths: relative to the work tree, clean, separated by "/", of
// any bytes but NUL. It takes the bytes of the paths and 4 more for each. It is
// immutable; the nil Set is empty.
//
// A submodule is one path, that of its directory. A file in conflict is one path. A
// file that git was only told to add later (git add -N), or not to check out, is
// tracked like any other.
type Set struct {
	names  string
	ends   []uint32 // of each path in names; the paths are in order
	sparse int      // how many are sparse directories, which end in "/"
}

// Len is the number of paths, sparse directories among them.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.ends)
}

// All goes through the paths in byte order. A sparse directory ends in "/".
func (s *Set) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range s.Len() {
			if !yield(s.at(i)) {
				return
			}
		}
	}
}

// Has reports whether the path itself is tracked: a file, a symbolic link, a submodule.
func (s *Set) Has(path string) bool {
	i := s.search(path)
	return i < s.Len() && s.at(i) == path && !strings.HasSuffix(path, "/")
}

// Below reports whether a tracked path lies below the directory; "" is the work
// tree. It is true of a sparse directory, but of nothing below one: ask Sparse.
func (s *Set) Below(dir string) bool {
	if dir == "" {
		return s.Len() > 0
	}
	dir += "/"
	i := s.search(dir)
	return i < s.Len() && strings.HasPrefix(s.at(i), dir)
}

// Sparse reports whether the path is a sparse directory or lies below one. Then the
// index does not say which paths there are tracked: git has all of them in a tree
// object, and normally none on disk.
func (s *Set) Sparse(path string) bool {
	if s == nil || s.sparse == 0 {
		return false
	}
	path += "/"
	for end := range len(path) {
		if path[end] != '/' {
			continue
		}
		if i := s.search(path[:end+1]); i < s.Len() && s.at(i) == path[:end+1] {
			return true
		}
	}
	return false
}

func (s *Set) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.names[start:s.ends[i]]
}

// search returns the place of the first path that is not before path.
func (s *Set) search(path string) int {
	return sort.Search(s.Len(), func(i int) bool { return s.at(i) >= path })
}
