package journal

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

const (
	version    = 1
	epochBytes = 16
	maxFile    = 8 << 20
)

// ErrDamaged is a file that is no journal, or no pins: cut off, from another
// version, or made up.
var ErrDamaged = errors.New("the record is damaged")

// fileRecord is the journal's file (docs/workspace.md). Entries are ordered by Seq,
// Dropped and Marks by name.
type fileRecord struct {
	Version uint32          `cbor:"1,keyasint"`
	Epoch   []byte          `cbor:"2,keyasint"`
	Seq     uint64          `cbor:"3,keyasint"`
	Entries []entryRecord   `cbor:"4,keyasint"`
	Dropped []droppedRecord `cbor:"5,keyasint"`
	Marks   []markRecord    `cbor:"6,keyasint"`
}

// entryRecord is one path. Names of files are bytes: they need not be UTF-8. Times
// are milliseconds of Unix time.
type entryRecord struct {
	Path      []byte `cbor:"1,keyasint"`
	Kinds     uint8  `cbor:"2,keyasint"`
	Last      uint8  `cbor:"3,keyasint"`
	Mark      uint8  `cbor:"4,keyasint"`
	From      []byte `cbor:"5,keyasint,omitempty"`
	Directory bool   `cbor:"6,keyasint,omitempty"`
	Session   string `cbor:"7,keyasint,omitempty"`
	First     int64  `cbor:"8,keyasint"`
	Latest    int64  `cbor:"9,keyasint"`
	Seq       uint64 `cbor:"10,keyasint"`
}

type droppedRecord struct {
	Directory []byte `cbor:"1,keyasint"`
	Count     uint64 `cbor:"2,keyasint"`
}

type markRecord struct {
	Name string `cbor:"1,keyasint"`
	Seq  uint64 `cbor:"2,keyasint"`
	Time int64  `cbor:"3,keyasint"`
}

// Snapshot returns the journal's file and counts it as clean from then on.
func (j *Journal) Snapshot() ([]byte, error) { return canon.Marshal(j.record()) }

func (j *Journal) record() fileRecord {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dirt.clean = true
	epoch, _ := hex.DecodeString(j.epoch) // its own making
	r := fileRecord{Version: version, Epoch: epoch, Seq: j.seq, Entries: make([]entryRecord, 0, len(j.nodes)),
		Dropped: []droppedRecord{}, Marks: []markRecord{}}
	for _, n := range j.nodes {
		r.Entries = append(r.Entries, n.record())
	}
	slices.SortFunc(r.Entries, func(a, b entryRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, dir := range slices.Sorted(maps.Keys(j.dropped)) {
		r.Dropped = append(r.Dropped, droppedRecord{Directory: []byte(dir), Count: j.dropped[dir]})
	}
	for _, name := range slices.Sorted(maps.Keys(j.marks)) {
		p := j.marks[name]
		r.Marks = append(r.Marks, markRecord{Name: name, Seq: p.Seq, Time: p.Time.UnixMilli()})
	}
	return r
}

func (n *node) record() entryRecord {
	return entryRecord{
		Path: []byte(n.path), Kinds: uint8(n.kinds), Last: uint8(n.last), Mark: uint8(n.mark), From: []byte(n.from),
		Directory: n.directory, Session: string(n.session), First: n.first, Latest: n.latest, Seq: n.seq,
	}
}

// Restore reads a journal's file back. Errors are ErrDamaged.
func Restore(data []byte) (*Journal, error) {
	var r fileRecord
	if err := canon.Unmarshal(data, maxFile, &r); err != nil {
		return nil, fmt.Errorf("read journal: %w: %w", ErrDamaged, err)
	}
	j, err := r.journal()
	if err != nil {
		return nil, fmt.Errorf("read journal: %w: %w", ErrDamaged, err)
	}
	return j, nil
}

func (r fileRecord) journal() (*Journal, error) {
	switch {
	case r.Version != version:
		return nil, fmt.Errorf("version %d is not %d", r.Version, version)
	case len(r.Epoch) != epochBytes:
		return nil, fmt.Errorf("an epoch of %d bytes", len(r.Epoch))
	case r.Entries == nil || r.Dropped == nil || r.Marks == nil:
		return nil, errors.New("a list is missing")
	case len(r.Entries) > MaxPaths || len(r.Dropped) > maxDropped+1 || len(r.Marks) > maxMarks:
		return nil, errors.New("more entries than a journal has")
	}
	j := empty(hex.EncodeToString(r.Epoch))
	j.seq = r.Seq
	for _, e := range r.Entries {
		if err := j.restore(e); err != nil {
			return nil, err
		}
	}
	if err := j.restoreDropped(r.Dropped); err != nil {
		return nil, err
	}
	return j, j.restoreMarks(r.Marks)
}

func (j *Journal) restore(e entryRecord) error {
	n, err := e.node()
	if err != nil {
		return err
	}
	newest := max(lastSeq(j.plain), lastSeq(j.marked))
	if j.nodes[n.path] != nil || n.seq <= newest || n.seq > j.seq {
		return fmt.Errorf("entry %q is twice there or out of order", n.path)
	}
	j.insert(n)
	j.requeue(n)
	if j.bytes > maxBytes {
		return errors.New("more bytes of paths than a journal has")
	}
	return nil
}

func lastSeq(q queue) uint64 {
	if q.last == nil {
		return 0
	}
	return q.last.seq
}

// latestTime is the end of year 9999: what is later has no place in JSON.
const latestTime = 253402300799999

func (e entryRecord) node() (*node, error) {
	kinds, last := Kind(e.Kinds), Kind(e.Last)
	switch {
	case !ValidPath(string(e.Path)) || len(e.From) > 0 && !ValidPath(string(e.From)):
		return nil, fmt.Errorf("%q is no path of a workspace", e.Path)
	case kinds&^allKinds != 0 || last == 0 || last&(last-1) != 0 || !kinds.Has(last):
		return nil, fmt.Errorf("kinds %d and %d", kinds, last)
	case route.Mark(e.Mark) > route.Script:
		return nil, fmt.Errorf("mark %d", e.Mark)
	case e.First > e.Latest || e.First < 0 || e.Latest > latestTime:
		return nil, fmt.Errorf("times %d and %d", e.First, e.Latest)
	}
	if e.Session != "" {
		if _, err := domain.ParseSessionID(e.Session); err != nil {
			return nil, err
		}
	}
	return &node{
		path: string(e.Path), from: string(e.From), kinds: kinds, last: last, directory: e.Directory, mark: route.Mark(e.Mark),
		session: domain.SessionID(e.Session), first: e.First, latest: e.Latest, seq: e.Seq,
	}, nil
}

// ValidPath reports whether p is a clean path relative to the workspace and below
// it, of bytes as the kernel takes them.
func ValidPath(p string) bool {
	return p != "" && len(p) <= maxPath && p != "." && p != ".." && p[0] != '/' && !strings.HasPrefix(p, "../") &&
		strings.IndexByte(p, 0) < 0 && path.Clean(p) == p
}

func (j *Journal) restoreDropped(list []droppedRecord) error {
	for i, d := range list {
		dir := string(d.Directory)
		if d.Directory == nil || dir != "" && !ValidPath(dir) || i > 0 && string(list[i-1].Directory) >= dir {
			return fmt.Errorf("%q is counted out of order", dir)
		}
		j.dropped[dir] = d.Count
	}
	return nil
}

func (j *Journal) restoreMarks(list []markRecord) error {
	for i, m := range list {
		if !ValidMark(m.Name) || i > 0 && list[i-1].Name >= m.Name || m.Seq > j.seq || m.Time < 0 || m.Time > latestTime {
			return fmt.Errorf("mark %q does not hold", m.Name)
		}
		j.marks[m.Name] = Point{Epoch: j.epoch, Seq: m.Seq, Time: time.UnixMilli(m.Time)}
	}
	return nil
}
