package daemon

import (
	"errors"
	"io"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/packet"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Bounds on what is mounted at the start.
const (
	maxShown   = 150
	maxVisited = 5000
	maxWaiting = 64 // directories to be mounted, and not yet
)

// shower has RS mount directories where they belong: those of Domain storage, and the
// git directories that come to light while the sandbox runs. It is an optimisation:
// what does not fit is served like anything else.
type shower struct {
	tell    func(link.Message, ...*os.File) error
	git     func(path string) error
	waiting chan shown

	mu    sync.Mutex // guards known
	known map[string]bool
}

// shown is a directory of Domain storage, or without dir a git directory.
type shown struct {
	path string
	dir  *os.File
}

func newShower(tell func(link.Message, ...*os.File) error) *shower {
	return &shower{tell: tell, waiting: make(chan shown, maxWaiting), known: map[string]bool{}}
}

// add takes over dir. It never waits.
func (s *shower) add(path string, dir *os.File) {
	select {
	case s.waiting <- shown{path, dir}:
	default:
		packet.CloseAll([]*os.File{dir})
	}
}

// found notes the git directory of a directory of the host that is being looked into, if
// it has one. That of the workspace itself is shown from the start.
func (s *shower) found(above string, dir int) {
	var st unix.Stat_t
	if above == "" || unix.Fstatat(dir, gitrules.Git, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return
	}
	at := path.Join(above, gitrules.Git)
	s.mu.Lock()
	first := !s.known[at] && len(s.known) < maxVisited
	if first {
		s.known[at] = true
	}
	s.mu.Unlock()
	if first {
		s.add(at, nil)
	}
}

// run passes on what was added, as long as RS is there.
func (s *shower) run() {
	for m := range s.waiting {
		if m.dir == nil {
			_ = s.git(m.path) // it is not shown from the host, or is gone
			continue
		}
		err := s.show(m.path, m.dir)
		m.dir.Close()
		if err != nil {
			return
		}
	}
}

func (s *shower) show(path string, dir *os.File) error {
	return s.tell(link.Message{Kind: link.KindMount, Path: []byte(path)}, dir)
}

// mirror finds the directories that Domain storage has from earlier generations.
type mirror struct {
	policy         *route.Policy
	host           tree
	show           func(path string, dir *os.File) error
	shown, visited int
}

var errEnough = errors.New("enough is mounted")

// walk goes through a directory of the mirror. at is dir's in Domain storage.
func (k *mirror) walk(dir route.Directory, at *os.File) error {
	names, err := at.Readdirnames(maxVisited)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil // what cannot be read is not mounted
	}
	for _, name := range names {
		if k.visited++; k.visited > maxVisited || k.shown >= maxShown {
			return errEnough
		}
		if err := k.entry(dir, at, name); err != nil {
			return err
		}
	}
	return nil
}

func (k *mirror) entry(dir route.Directory, at *os.File, name string) error {
	fd, err := unix.Openat(int(at.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // a file, or a link
	}
	own := os.NewFile(uintptr(fd), name)
	defer own.Close()
	full := path.Join(dir.Path(), name)
	verdict := k.policy.Name(dir, name, route.Names{Host: k.host.look(full), Own: route.Dir})
	switch verdict.Class {
	case route.Held:
		k.shown++
		return k.show(full, own)
	case route.Shared, route.ReadOnly:
		if k.host.look(full) != route.Dir {
			return nil
		}
		below := k.policy.Enter(dir, name, verdict, func(n string) route.Kind { return k.host.look(path.Join(full, n)) })
		return k.walk(below, own)
	}
	return nil
}
