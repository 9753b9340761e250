package watch

import (
	"strings"

	"golang.org/x/sys/unix"
)

// What says what happened to a name. Several may be set: the kernel and the
// Watcher both merge, and the order is lost then.
type What uint16

// A rename is Removed for the old name and Created for the new one; a file that is
// replaced by a rename is only Created.
const (
	Created    What = 1 << 0 // made, linked or moved here
	Removed    What = 1 << 1 // unlinked or moved away
	Content    What = 1 << 2 // written, truncated, or closed after writing
	Attributes What = 1 << 3 // mode, owner, times, links, extended attributes
	// SelfMoved and SelfGone concern the marked directory; Name is empty. The
	// directory's removal is reported only when its last descriptor is closed;
	// the one above it, when marked, tells sooner. The mark is gone by then.
	SelfMoved What = 1 << 4
	SelfGone  What = 1 << 5
	// Directory: the name is, or was, a directory.
	Directory What = 1 << 6
)

// Event is one changed name in the directory added with Key. An empty Name is the
// directory itself. Any byte but '/' and NUL may stand in a Name.
type Event struct {
	Key  uint64
	Name string
	What What
}

// Sink takes what a Watcher finds. Both methods are called by Run, one at a time;
// while they work the kernel queues, and loses events when its queue is full.
type Sink interface {
	// Changed gets what was found at once, at least one event, no two with the
	// same Key and Name. The slice is valid until it returns.
	Changed(events []Event)
	// Overflow says that events were lost: anything in any directory may have
	// changed before the call.
	Overflow()
}

// marked is what is asked for. FAN_RENAME would add nothing that the two halves
// of a move do not tell, and is younger.
const marked = unix.FAN_CREATE | unix.FAN_DELETE | unix.FAN_MOVED_FROM | unix.FAN_MOVED_TO |
	unix.FAN_MODIFY | unix.FAN_CLOSE_WRITE | unix.FAN_ATTRIB |
	unix.FAN_DELETE_SELF | unix.FAN_MOVE_SELF |
	unix.FAN_EVENT_ON_CHILD | unix.FAN_ONDIR

var meanings = []struct {
	mask uint64
	what What
	name string
}{
	{unix.FAN_CREATE | unix.FAN_MOVED_TO, Created, "created"},
	{unix.FAN_DELETE | unix.FAN_MOVED_FROM, Removed, "removed"},
	{unix.FAN_MODIFY | unix.FAN_CLOSE_WRITE, Content, "content"},
	{unix.FAN_ATTRIB, Attributes, "attributes"},
	{unix.FAN_MOVE_SELF, SelfMoved, "self moved"},
	{unix.FAN_DELETE_SELF, SelfGone, "self gone"},
	{unix.FAN_ONDIR, Directory, "directory"},
}

func meaning(mask uint64) (w What) {
	for _, m := range meanings {
		if mask&m.mask != 0 {
			w |= m.what
		}
	}
	return w
}

// String names what is set, for tests and logs.
func (w What) String() string {
	var names []string
	for _, m := range meanings {
		if w&m.what != 0 {
			names = append(names, m.name)
		}
	}
	return strings.Join(names, ", ")
}
