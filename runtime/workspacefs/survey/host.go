package survey

import "lazaret.dev/lazaret/runtime/workspacefs/route"

// Entry is what the host has under one name.
type Entry struct {
	Name  string
	Kind  route.Kind
	Links uint64 // names of a regular file; 0 where the caller was not told (ReadDir)
}

// Host is the workspace on the host, or a git directory outside it. Paths are
// relative, clean and separated by "/"; "." is the top. No method follows a link, at
// the end or on the way. Errors: fs.ErrNotExist where there is nothing.
type Host interface {
	Lstat(path string) (Entry, error)
	// ReadDir returns at most limit entries.
	ReadDir(path string, limit int) ([]Entry, error)
	ReadFile(path string, limit int64) ([]byte, error)
	ReadLink(path string) (string, error)
}
