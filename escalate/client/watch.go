package client

import (
	"os"

	"golang.org/x/sys/unix"
)

// watch tells that the mailbox changed. gVisor reports nothing the host does in the
// results directory by itself, and that mount is read-only inside, so the guest
// init is asked to poke the requests directory beside it: an ATTRIB event there.
// Where there is no inotify at all the caller's poll goes on alone.
type watch struct {
	changed chan struct{} // holds at most one
	file    *os.File
}

// newWatch watches the results directory for new entries, and the requests
// directory for pokes.
func newWatch(results, requests string) *watch {
	w := &watch{changed: make(chan struct{}, 1)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w
	}
	const entries = unix.IN_ATTRIB | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_ONLYDIR
	_, err = unix.InotifyAddWatch(fd, results, entries)
	_, poked := unix.InotifyAddWatch(fd, requests, unix.IN_ATTRIB|unix.IN_ONLYDIR)
	if err != nil && poked != nil {
		unix.Close(fd)
		return w
	}
	w.file = os.NewFile(uintptr(fd), "inotify")
	go w.run()
	return w
}

// run ends when the file is closed. Which file changed does not matter.
func (w *watch) run() {
	buf := make([]byte, 4096)
	for {
		if _, err := w.file.Read(buf); err != nil {
			return
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

func (w *watch) close() {
	if w.file != nil {
		w.file.Close()
	}
}
