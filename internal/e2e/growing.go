package e2e

import (
	"bytes"
	"os"
	"sync"
	"syscall"
)

// growing is what a program has written so far. Its methods may overlap.
type growing struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and replaced at every write
}

func newGrowing() *growing { return &growing{changed: make(chan struct{})} }

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
	return g.text.Write(p)
}

func (g *growing) now() (string, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String(), g.changed
}

func (g *growing) String() string {
	text, _ := g.now()
	return text
}

// status is a process's exit status as a shell gives it: 128+n for signal n.
func status(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
