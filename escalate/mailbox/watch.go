package mailbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxNames is how many changed names wait; more, and the whole directory is read.
const maxNames = 1024

// watch tells of new names in a directory. It is a hint only: it may miss, and
// then says overflow.
type watch struct {
	names    chan string
	overflow chan struct{} // holds at most one
	file     *os.File
	done     chan struct{}
}

func newWatch(dir *os.File) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch the mailbox: %w", err)
	}
	// A rename ends every proper write; CLOSE_WRITE catches writers that do not
	// rename, whose files would otherwise wait for the poll.
	const mask = unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_ONLYDIR
	if _, err := unix.InotifyAddWatch(fd, descriptorPath(dir), mask); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watch the mailbox: %w", err)
	}
	w := &watch{
		names:    make(chan string, maxNames),
		overflow: make(chan struct{}, 1),
		file:     os.NewFile(uintptr(fd), "inotify"),
		done:     make(chan struct{}),
	}
	go w.run(w.names)
	return w, nil
}

// run ends when the file is closed.
func (w *watch) run(names chan<- string) {
	defer close(w.done)
	defer close(names)
	buf := make([]byte, 16<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		w.parse(buf[:n], names)
	}
}

func (w *watch) parse(buf []byte, names chan<- string) {
	for len(buf) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(buf[4:])
		length := int(binary.NativeEndian.Uint32(buf[12:]))
		name := buf[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+length]
		buf = buf[unix.SizeofInotifyEvent+length:]
		if mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED) != 0 {
			w.overflowed()
			continue
		}
		if name = bytes.TrimRight(name, "\x00"); len(name) == 0 {
			continue
		}
		select {
		case names <- string(name):
		default:
			w.overflowed()
		}
	}
}

func (w *watch) overflowed() {
	select {
	case w.overflow <- struct{}{}:
	default:
	}
}

func (w *watch) close() {
	w.file.Close()
	<-w.done
}
