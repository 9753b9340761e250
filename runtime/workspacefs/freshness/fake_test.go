package freshness

import (
	"fmt"
	"strings"
	"sync"
)

// world is a file system and its rules that write down what they are told.
type world struct {
	mu    sync.Mutex
	dirs  map[uint64]string
	calls []string
	fail  error
	rules []string
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
}

func (w *world) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.calls...)
}

func (w *world) HandleChanged(handle uint64, name string) { w.note("changed %d %s", handle, name) }
func (w *world) InvalidateAll()                           { w.note("all") }
func (w *world) HandleShows(_ uint64, name string, _ bool) bool {
	return !strings.HasPrefix(name, "hidden")
}

func (w *world) HandlePath(handle uint64) (string, bool) {
	path, ok := w.dirs[handle]
	return path, ok
}

func (w *world) HostChanged(path string, read func(int64) ([]byte, error)) (bool, error) {
	if !strings.HasSuffix(path, ".gitignore") {
		return false, nil
	}
	text, err := read(100)
	w.note("rule %s %s", path, text)
	return string(text) == "new", err
}

func (w *world) RuleFiles() []string { return w.rules }

func (w *world) read(path string, _ int64) ([]byte, error) {
	if path == "same/.gitignore" {
		return []byte("same"), nil
	}
	return []byte("new"), w.fail
}

func (w *world) warn(err error) { w.note("warn %v", err) }

func (w *world) poke(path string) error {
	w.note("poke %s", path)
	return nil
}

func (w *world) config() Config {
	return Config{Rules: w, Read: w.read, Poke: w.poke, Warn: w.warn}
}
