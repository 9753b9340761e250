package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// ErrRefused is wrapped by every reason for which an entry was not delivered.
var ErrRefused = errors.New("mailbox entry refused")

const (
	// pollInterval is how often the directory is read even without an event.
	pollInterval = time.Second
	// scanPause is the least time between two readings of the whole directory,
	// so that a guest that fills it cannot keep us reading it.
	scanPause = 50 * time.Millisecond
	// scanBatch is how many names are read, and forgotten, at a time.
	scanBatch = 256
	// maxTemporary is how many files being written are left alone.
	maxTemporary = 256
)

// Entry is one file of the requests directory, already removed from it. Its
// bytes are the guest's.
type Entry struct {
	Request domain.RequestID // from the name; only the verified record counts
	Kind    wire.Kind
	Data    []byte
}

// Inbox reads the requests directory.
type Inbox struct {
	// Dir is the directory; it stays the caller's.
	Dir *os.File
	// Deliver is called with one entry at a time. What it does is the pace of
	// the inbox: entries wait in the directory meanwhile, which is capped.
	Deliver func(Entry)
	// Refused is told of each entry that was not delivered; may be nil.
	Refused func(name string, err error)
	// Owner says whether a host user may own an entry; nil accepts all, because
	// ownership authenticates nobody.
	Owner func(uid uint32) bool
}

// Run delivers entries until ctx ends.
func (in *Inbox) Run(ctx context.Context) error {
	watch, err := newWatch(in.Dir)
	if err != nil {
		return err
	}
	defer watch.close()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	in.scan(watch)
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case name, ok := <-watch.names:
			if !ok {
				watch.names = nil // the watch broke: the poll goes on
				continue
			}
			in.take(name)
			continue
		case <-watch.overflow:
		case <-poll.C:
		}
		if wait := scanPause - time.Since(last); wait > 0 {
			if !pause(ctx, wait) {
				return nil
			}
		}
		in.scan(watch)
		last = time.Now()
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// scan reads the whole directory once and removes what is none of ours. Names
// the watch tells of meanwhile come first: a directory full of rubbish must not
// hold up a proper entry.
func (in *Inbox) scan(w *watch) {
	dir, err := reopen(in.Dir)
	if err != nil {
		in.refuse(".", err)
		return
	}
	defer dir.Close()
	temporary := 0
	for {
		for range len(w.names) {
			in.take(<-w.names)
		}
		names, err := dir.Readdirnames(scanBatch)
		for _, name := range names {
			if _, kind, ok := wire.ParseRequestName(name); ok && kind == wire.KindTemporary {
				if temporary++; temporary <= maxTemporary {
					continue
				}
				in.remove(name)
				continue
			}
			in.take(name)
		}
		if err != nil || len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				in.refuse(".", err)
			}
			return
		}
	}
}

// take reads, removes and delivers the entry called name.
func (in *Inbox) take(name string) {
	id, kind, ok := wire.ParseRequestName(name)
	if ok && kind == wire.KindTemporary {
		return
	}
	if !ok {
		in.remove(name)
		in.refuse(name, fmt.Errorf("%w: not a name of ours", ErrRefused))
		return
	}
	data, err := in.read(name)
	if errors.Is(err, unix.ENOENT) {
		return // taken already: an event and a scan saw the same file
	}
	in.remove(name)
	if err != nil {
		in.refuse(name, err)
		return
	}
	in.Deliver(Entry{Request: id, Kind: kind, Data: data})
}

// read returns the content of a small regular file of the directory.
func (in *Inbox) read(name string) ([]byte, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat2(int(in.Dir.Fd()), name, &unix.OpenHow{
			Flags: unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS |
				unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: open: %w", ErrRefused, err)
	}
	f := os.NewFile(uintptr(fd), "mailbox entry")
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("%w: stat: %w", ErrRefused, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%w: not a regular file", ErrRefused)
	case st.Size > wire.MaxRecord:
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrRefused, st.Size, wire.MaxRecord)
	case in.Owner != nil && !in.Owner(st.Uid):
		return nil, fmt.Errorf("%w: owned by %d, who is nobody of this sandbox", ErrRefused, st.Uid)
	}
	// The file may still grow while it is read: one byte more than allowed shows it.
	data, err := io.ReadAll(io.LimitReader(f, wire.MaxRecord+1))
	if err != nil {
		return nil, fmt.Errorf("%w: read: %w", ErrRefused, err)
	}
	if len(data) > wire.MaxRecord {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrRefused, wire.MaxRecord)
	}
	return data, nil
}

// remove takes name out of the directory, whatever it is. A directory that is not
// empty stays; it is passed over at every scan.
func (in *Inbox) remove(name string) {
	err := unix.Unlinkat(int(in.Dir.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		_ = unix.Unlinkat(int(in.Dir.Fd()), name, unix.AT_REMOVEDIR)
	}
}

func (in *Inbox) refuse(name string, err error) {
	if in.Refused != nil {
		in.Refused(name, err)
	}
}

// reopen returns a second description of dir, with an offset of its own.
func reopen(dir *os.File) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reopen mailbox directory: %w", err)
	}
	return os.NewFile(uintptr(fd), "mailbox"), nil
}

func descriptorPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// retry repeats f while the kernel asks for it: openat2 with RESOLVE_BENEATH gives
// EAGAIN when anything on the system was renamed meanwhile.
func retry(f func() error) error {
	const attempts = 64
	var err error
	for range attempts {
		if err = f(); !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return err
}
