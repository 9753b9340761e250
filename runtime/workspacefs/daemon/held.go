package daemon

import (
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/link"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Bounds on what is mounted at the start.
const (
	maxShown   = 150
	maxVisited = 5000
	maxWaiting = 64 // directories made and not mounted yet
)

// shower has RS mount directories of Domain storage where they belong. It is an
// optimisation: what does not fit is served like anything else.
type shower struct {
	tell    func(link.Message, ...*os.File) error
	waiting chan shown
}

type shown struct {
	path string
	dir  *os.File
}

func newShower(tell func(link.Message, ...*os.File) error) *shower {
	return &shower{tell: tell, waiting: make(chan shown, maxWaiting)}
}

// add takes over dir. It never waits.
func (s *shower) add(path string, dir *os.File) {
	select {
	case s.waiting <- shown{path, dir}:
	default:
		dir.Close()
	}
}

// run passes on what was added, as long as RS is there.
func (s *shower) run() {
	for m := range s.waiting {
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
