package journal

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Limits of a journal. With them its file stays below maxFile.
const (
	MaxPaths   = 20_000
	maxBytes   = 4 << 20 // of all paths together
	maxPath    = 4096    // PATH_MAX
	maxMarks   = 32
	maxDropped = 256 // directories counted apart
)

// The marks Lazaret itself sets.
const (
	Looked     = "looked"     // the developer has seen the changes so far
	Generation = "generation" // a sandbox was started
)

// Point is a moment in the life of one journal. The zero Point is before everything.
type Point struct {
	Epoch string // which journal: 32 hexadecimal digits
	Seq   uint64 // the last change before it
	Time  time.Time
}

// Journal is safe for use by many goroutines.
type Journal struct {
	mu      sync.Mutex // guards everything below
	epoch   string
	seq     uint64
	nodes   map[string]*node
	plain   queue // without a mark: forgotten first
	marked  queue
	bytes   int
	dropped map[string]uint64
	marks   map[string]Point
	dirt    dirt
	paths   int // the limit; MaxPaths outside tests
}

// New returns an empty journal with an epoch of its own.
func New() *Journal {
	b := make([]byte, epochBytes)
	rand.Read(b) // never fails: crypto/rand panics rather than return weak bytes
	return empty(hex.EncodeToString(b))
}

func empty(epoch string) *Journal {
	return &Journal{
		epoch: epoch, nodes: map[string]*node{}, dropped: map[string]uint64{}, marks: map[string]Point{},
		dirt: newDirt(), paths: MaxPaths,
	}
}

// Note records c. A path that could not be one of the workspace's is ignored: the
// file system hands out no other. It allocates only for a path that is new.
func (j *Journal) Note(c Change) {
	if len(c.Path) == 0 || len(c.Path) > maxPath || len(c.From) > maxPath {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.From != "" && c.From != c.Path {
		c = j.renamed(c)
	}
	n := j.nodes[c.Path]
	now := c.Time.UnixMilli()
	if n == nil {
		n = &node{path: strings.Clone(c.Path), first: now}
		j.insert(n)
	} else if c.Kind == Created && !n.kinds.Has(Created) {
		c.Kind = Changed // it was there before the sandbox took it away
	}
	j.seq++
	n.seq, n.latest = j.seq, max(now, n.first)
	n.kinds, n.last = n.kinds|c.Kind, c.Kind
	n.directory, n.session = c.Directory, c.Session
	n.mark = stronger(n.mark, c.Mark)
	if c.From != "" || c.Kind == Created {
		j.bytes += len(c.From) - len(n.from)
		n.from = c.From
	}
	j.requeue(n)
	j.trim()
	j.dirt.raise()
}

// renamed takes what is known about the old name over to the new one. A name the
// sandbox made up itself tells nobody anything and is left out.
func (j *Journal) renamed(c Change) Change {
	if c.Directory {
		j.rebase(c.From, c.Path)
	}
	old := j.nodes[c.From]
	if old == nil {
		return c
	}
	j.forget(old)
	c.Mark = stronger(c.Mark, old.mark)
	switch {
	case old.kinds.Has(Created):
		c.From = ""
		if c.Kind == Renamed {
			c.Kind = Created
		}
	case old.from != "":
		c.From = old.from
	}
	return c
}

// rebase moves what is known below one directory to another.
func (j *Journal) rebase(from, to string) {
	var below []*node
	for path, n := range j.nodes {
		if Beneath(path, from) && path != from {
			below = append(below, n)
		}
	}
	for _, n := range below {
		moved := to + n.path[len(from):]
		delete(j.nodes, n.path)
		if there := j.nodes[moved]; there != nil {
			j.forget(there)
		}
		j.bytes += len(moved) - len(n.path)
		n.path = moved
		j.nodes[moved] = n
		if len(moved) > maxPath {
			j.forget(n)
		}
	}
}

// Beneath reports whether path is dir or lies in it; everything lies in "".
func Beneath(path, dir string) bool {
	return dir == "" || path == dir || len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

func (j *Journal) insert(n *node) {
	j.nodes[n.path] = n
	j.bytes += n.size()
}

func (j *Journal) forget(n *node) {
	delete(j.nodes, n.path)
	j.bytes -= n.size()
	if n.in != nil {
		n.in.remove(n)
	}
}

// requeue puts n at the end of the queue its mark belongs to.
func (j *Journal) requeue(n *node) {
	if n.in != nil {
		n.in.remove(n)
	}
	if n.mark == route.Plain {
		j.plain.add(n)
	} else {
		j.marked.add(n)
	}
}

// trim forgets the oldest paths while there are too many: unmarked ones first.
func (j *Journal) trim() {
	for len(j.nodes) > j.paths || j.bytes > maxBytes {
		oldest := j.plain.first
		if oldest == nil {
			oldest = j.marked.first
		}
		j.forget(oldest)
		j.count(oldest.path)
	}
}

// count counts a forgotten path under its top two directories, or under "" when
// too many are counted apart already.
func (j *Journal) count(path string) {
	dir := topDirectories(path)
	if _, known := j.dropped[dir]; !known && len(j.dropped) >= maxDropped {
		dir = ""
	}
	j.dropped[dir]++
}

func topDirectories(path string) string {
	first := strings.IndexByte(path, '/')
	if first < 0 {
		return ""
	}
	if second := strings.IndexByte(path[first+1:], '/'); second >= 0 {
		return path[:first+1+second]
	}
	return path[:first]
}

// SetMark names the moment now. Names are lower-case letters, digits and hyphens,
// at most 32; others are ignored. Of more than 32 marks the oldest goes.
func (j *Journal) SetMark(name string, now time.Time) {
	if !ValidMark(name) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, known := j.marks[name]; !known && len(j.marks) >= maxMarks {
		oldest := slices.MinFunc(slices.Sorted(maps.Keys(j.marks)), func(a, b string) int { return j.marks[a].Time.Compare(j.marks[b].Time) })
		delete(j.marks, oldest)
	}
	j.marks[name] = Point{Epoch: j.epoch, Seq: j.seq, Time: now.Truncate(time.Millisecond)}
	j.dirt.raise()
}

// ValidMark reports whether name can be a mark's.
func ValidMark(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 32
}

// Mark returns the moment called name.
func (j *Journal) Mark(name string) (Point, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p, ok := j.marks[name]
	return p, ok
}

// Marks returns all named moments.
func (j *Journal) Marks() map[string]Point {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.marks)
}

// Here is the present moment.
func (j *Journal) Here(now time.Time) Point {
	j.mu.Lock()
	defer j.mu.Unlock()
	return Point{Epoch: j.epoch, Seq: j.seq, Time: now}
}

// Changes returns what changed after since at prefix or below it, oldest first. A
// point of another journal, or one that lies ahead, hides nothing.
func (j *Journal) Changes(since Point, prefix string) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	if since.Epoch != j.epoch || since.Seq > j.seq {
		since.Seq = 0
	}
	var out []Entry
	for path, n := range j.nodes {
		if n.seq > since.Seq && Beneath(path, prefix) {
			out = append(out, n.entry())
		}
	}
	slices.SortFunc(out, func(a, b Entry) int {
		if a.Seq < b.Seq {
			return -1
		}
		return 1
	})
	return out
}

// Dropped counts the forgotten paths by their top two directories; "" stands for
// the workspace's own and for all that are not counted apart.
func (j *Journal) Dropped() map[string]uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.dropped)
}
