package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultMarks bounds the directories of one Watcher. Each mark pins an inode in
// the kernel's memory (about 1 KiB on ext4) and counts against the user's
// fs.fanotify.max_user_marks, which all their Domains share; the sandbox can make
// directories without end.
const DefaultMarks = 100_000

// Options are what a Watcher may be told; the zero value is good.
type Options struct {
	MaxMarks int // 0 is DefaultMarks
	// Degraded hears once of each reason why a directory is not watched: a
	// fault.Error for a person. Add calls it.
	Degraded func(err error)
}

// Watcher is one fanotify group. Its methods may overlap; Run runs once.
type Watcher struct {
	options Options
	fd      int // of file, for marks
	file    *os.File
	conn    syscall.RawConn
	self    int32

	// mu protects what follows. A mark is set and taken away under it.
	mu        sync.Mutex
	keys      map[string][]uint64 // of every marked directory, by identity; may be none
	names     map[uint64]string   // the inverse
	unwatched map[uint64]error
	told      map[error]bool
}

// New makes a Watcher of nothing. The error is a fault.Error; the caller then lives
// with short cache times.
func New(options Options) (*Watcher, error) {
	if options.MaxMarks <= 0 {
		options.MaxMarks = DefaultMarks
	}
	const flags = unix.FAN_CLASS_NOTIF | unix.FAN_REPORT_DFID_NAME | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK
	fd, err := unix.FanotifyInit(flags, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, unavailable(err)
	}
	file := os.NewFile(uintptr(fd), "fanotify")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("watch the workspace: %w", err)
	}
	return &Watcher{
		options: options, fd: fd, file: file, conn: conn, self: int32(os.Getpid()),
		keys: map[string][]uint64{}, names: map[uint64]string{}, unwatched: map[uint64]error{}, told: map[error]bool{},
	}, nil
}

// Close gives up the group and all its marks. Run must have
// returned.
func (w *Watcher) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fd = -1 // the number may soon be another file's
	return w.file.Close()
}

// Status is what a Watcher has to report.
type Status struct {
	Marks     int // directories marked
	Unwatched int // directories Add refused and nobody removed
}

// Status counts.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Status{Marks: len(w.keys), Unwatched: len(w.unwatched)}
}

// Unwatched returns at most limit keys that Add refused, with the reason.
func (w *Watcher) Unwatched(limit int) map[uint64]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	some := map[uint64]error{}
	for key, why := range w.unwatched {
		if len(some) == limit {
			break
		}
		some[key] = why
	}
	return some
}

// Keys returns the key of every directory that is watched.
func (w *Watcher) Keys() []uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.names))
}

// bufferSize is some thousand events.
const bufferSize = 128 << 10

// maxReads bounds how much is merged before the sink hears of it.
const maxReads = 16

// Run reads events and hands them to sink until ctx ends, and returns nil then. Any
// error is final: nothing is watched any more, and the caller must treat it as an
// overflow and fall back to short cache times.
func (w *Watcher) Run(ctx context.Context, sink Sink) error {
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffer, merged := make([]byte, bufferSize), newBatch()
	for {
		n, err := w.read(buffer)
		for reads := 1; err == nil && n > 0; reads++ {
			if err = w.take(buffer[:n], merged); err != nil || reads == maxReads || merged.full() {
				break
			}
			n, err = w.readQueued(buffer)
		}
		merged.deliver(sink)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch the workspace: %w", err)
		}
	}
}

// read waits for events.
func (w *Watcher) read(b []byte) (n int, err error) {
	waited := w.conn.Read(func(fd uintptr) bool {
		n, err = readAgain(int(fd), b)
		return !errors.Is(err, unix.EAGAIN)
	})
	return n, errors.Join(waited, err)
}

// readQueued reads what is there already, nothing included.
func (w *Watcher) readQueued(b []byte) (n int, err error) {
	n, err = readAgain(w.fd, b)
	if errors.Is(err, unix.EAGAIN) {
		return 0, nil
	}
	return n, err
}

func readAgain(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// take adds the events in b to merged. An event that cannot be understood is a lost
// one; only another version of the format is an error.
func (w *Watcher) take(b []byte, merged *batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := parse(b, func(r record) { w.note(r, merged) })
	if errors.Is(err, errMalformed) {
		merged.overflow = true
		return nil
	}
	return err
}

// note adds one event. w.mu is held.
func (w *Watcher) note(r record, merged *batch) {
	if r.mask&unix.FAN_Q_OVERFLOW != 0 {
		merged.overflow = true
		return
	}
	keys := w.keys[string(r.dir)]
	gone := r.mask&unix.FAN_DELETE_SELF != 0
	// Whoever's doing it is, the end of a directory is the end of its mark.
	if what := meaning(r.mask); r.pid != w.self || gone {
		for _, key := range keys {
			merged.add(key, r.name, what)
		}
	}
	if gone {
		for _, key := range keys {
			delete(w.names, key)
		}
		delete(w.keys, string(r.dir))
	}
}
