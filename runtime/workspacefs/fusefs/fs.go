package fusefs

import (
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Events is told what the sandbox did, after it was done but for Changing. Its methods are called
// from many goroutines, without locks, and while the caller inside waits: they
// must not block, look at the mounted file system, or invalidate anything.
type Events interface {
	// Changing comes before, for what rules are read from (Verdict.Rule) and for a
	// directory of the host that is renamed, to then; to is "" otherwise. It is called with
	// locks held, and may take the time of a write to the disk. An error refuses the
	// change. done, which may not be nil, is called when the change is made or has failed,
	// perhaps before and perhaps after what tells of it.
	Changing(path, to string) (done func(), err error)
	Created(path string, verdict route.Verdict)
	Wrote(path string, verdict route.Verdict)
	Removed(path string, verdict route.Verdict)
	// Renamed comes twice for an exchange. The verdict is about to; its mark is that of
	// from where to has none.
	Renamed(from, to string, verdict route.Verdict)
	// MadeHeldDir says that a directory in Domain storage now stands where the
	// directory above it is the host's. dir is an O_PATH descriptor of it, valid
	// during the call.
	MadeHeldDir(path string, dir int)
}

// Config is what an FS is made of. The descriptors stay the caller's and must
// outlive the FS.
type Config struct {
	Host      *os.File // the workspace on the host
	Held      *os.File // Domain storage's mirror of it
	Transient *os.File // the generation's own
	Router    route.Router
	Vetter    Vetter // nil refuses whatever needs it
	Events    Events // may be nil

	// OnDirectory is called before a host directory is first read or looked into,
	// with an O_PATH descriptor valid during the call, and a handle that HandleChanged
	// takes. When it reports an error the directory is not watched, and what is in it
	// is cached for Unwatched only. OnForget is called when nobody knows the directory
	// any more, with -1 where its descriptor is closed already; one that comes back
	// has another handle. Both may be nil.
	OnDirectory func(handle uint64, path string, dir int) error
	OnForget    func(handle uint64, dir int)

	Cache       time.Duration // of entries, attributes and absent names; 0 is an hour
	Unwatched   time.Duration // the same below an unwatched directory; 0 is a second
	Descriptors int           // how many to keep open; 0 is what RLIMIT_NOFILE allows, and no more than needed
	Log         *log.Logger   // the protocol's complaints; nil is the standard logger
}

// FS is the workspace. Its methods may overlap.
type FS struct {
	config  Config
	roots   [transient + 1]int // by backend
	device  uint64             // of the host tree
	self    int                // this process's descriptors, as a directory
	pool    *pool              // of places
	files   *pool              // of files open for reading and writing
	links   links
	written written
	busy    busy

	// tree is held for reading while a path is in use, and for writing while one
	// changes.
	tree sync.RWMutex
	// mirrors counts the directories made and removed in the two mirrors for the
	// sake of a host directory.
	mirrors atomic.Uint64
	// renames counts the directories the sandbox has renamed.
	renames atomic.Uint64

	views [2]*view // by View
}

// The defaults of Config.
const (
	defaultCache     = time.Hour
	defaultUnwatched = time.Second
)

// New returns an FS. The process's umask becomes 0: the kernel has applied the
// caller's. It fails when a descriptor is missing or is no directory.
func New(config Config) (*FS, error) {
	if config.Router == nil || config.Host == nil || config.Held == nil || config.Transient == nil {
		return nil, errors.New("make a workspace file system: a tree or the router is missing")
	}
	fs := &FS{config: config}
	fs.config.Cache = orDefault(config.Cache, defaultCache)
	fs.config.Unwatched = orDefault(config.Unwatched, defaultUnwatched)
	for b, f := range map[backend]*os.File{host: config.Host, held: config.Held, transient: config.Transient} {
		fs.roots[b] = int(f.Fd())
		st, err := stat(fs.roots[b])
		if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			err = unix.ENOTDIR
		}
		if err != nil {
			return nil, fmt.Errorf("make a workspace file system: %q: %w", f.Name(), err)
		}
		if b == host {
			fs.device = device(st)
		}
	}
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a workspace file system: open /proc/self/fd: %w", err)
	}
	budget, err := descriptors(config.Descriptors)
	if err != nil {
		return nil, err
	}
	unix.Umask(0)
	fs.self, fs.pool, fs.files = self, newPool(budget), newPool(min(budget, maxFiles))
	fs.written.slots, fs.written.pool = map[*slot]struct{}{}, fs.files
	for _, kind := range []View{Tree, Git} {
		fs.views[kind] = newView(fs, kind)
	}
	return fs, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// descriptors returns how many descriptors may be kept open.
func descriptors(asked int) (int, error) {
	if asked > 0 {
		return asked, nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return int(min(limit.Cur/2, maxPlaces)), nil
}

// maxPlaces and maxFiles are how many descriptors are of use: a directory saves a walk,
// a file the host has deleted in the meantime keeps its space.
const (
	maxPlaces = 16 << 10
	maxFiles  = 512
)

// changing tells of what the sandbox is about to do, if anybody has to know before.
func (fs *FS) changing(verdict route.Verdict, path, to string) (done func(), err error) {
	if fs.config.Events == nil || verdict.Class != route.Shared || !verdict.Rule && to == "" {
		return func() {}, nil
	}
	return fs.config.Events.Changing(path, to)
}

// tell calls f when there is somebody to tell. It must be called without locks.
func (fs *FS) tell(f func(Events)) {
	if fs.config.Events != nil {
		f(fs.config.Events)
	}
}
