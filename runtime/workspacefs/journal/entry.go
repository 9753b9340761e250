package journal

import (
	"time"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Kind is what happened to a path; an Entry has a set of them.
type Kind uint8

// The kinds. Their numbers are in the journal's file.
const (
	Created Kind = 1
	Changed Kind = 2
	Removed Kind = 4
	Renamed Kind = 8 // to this path, from Entry.From

	allKinds = Created | Changed | Removed | Renamed
)

// Has reports whether k has all kinds of other.
func (k Kind) Has(other Kind) bool { return k&other == other }

// Change is one act of the sandbox.
type Change struct {
	Path string // relative to the workspace, cleaned
	Kind Kind   // exactly one
	// From is the old name when something was renamed to Path. Kind is Renamed when
	// Path was free, and Changed when what stood there was replaced.
	From string
	// Directory says that Path is one. Renaming it moves what is known below it.
	Directory bool
	Mark      route.Mark
	Session   domain.SessionID // who did it, where that is known
	Time      time.Time
}

// Entry is everything known about one path.
type Entry struct {
	Path      string
	Kinds     Kind
	Last      Kind // the latest of Kinds
	From      string
	Directory bool
	Mark      route.Mark // the most telling of all
	Session   domain.SessionID
	First     time.Time
	Latest    time.Time
	Seq       uint64 // of the latest change
}

// Undone reports that the path is as if nothing had happened: made by the sandbox
// and gone again.
func (e Entry) Undone() bool { return e.Kinds.Has(Created) && e.Last == Removed }

// telling orders marks by how much they tell: what runs on the host first.
func telling(m route.Mark) int {
	switch m {
	case route.Runs:
		return 3
	case route.Rules:
		return 2
	case route.Script:
		return 1
	}
	return 0
}

func stronger(a, b route.Mark) route.Mark {
	if telling(b) > telling(a) {
		return b
	}
	return a
}

// node is an Entry in the journal: a member of one of its two queues.
type node struct {
	path, from  string
	kinds, last Kind
	directory   bool
	mark        route.Mark
	session     domain.SessionID
	first       int64 // milliseconds of Unix time, as in the file
	latest      int64
	seq         uint64
	next, prev  *node
	in          *queue
}

func (n *node) size() int { return len(n.path) + len(n.from) }

func (n *node) entry() Entry {
	return Entry{
		Path: n.path, Kinds: n.kinds, Last: n.last, From: n.from, Directory: n.directory, Mark: n.mark, Session: n.session,
		First: time.UnixMilli(n.first), Latest: time.UnixMilli(n.latest), Seq: n.seq,
	}
}

// queue holds nodes by the time of their latest change, oldest first.
type queue struct{ first, last *node }

func (q *queue) add(n *node) {
	n.in, n.prev, n.next = q, q.last, nil
	if q.last == nil {
		q.first = n
	} else {
		q.last.next = n
	}
	q.last = n
}

func (q *queue) remove(n *node) {
	if n.prev == nil {
		q.first = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		q.last = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.in, n.prev, n.next = nil, nil, nil
}
