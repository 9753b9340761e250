package gitindex

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// The bounds in bytes: of the file, of all paths together (version 4 keeps them
// compressed), and of one path.
const (
	MaxFile  = 256 << 20
	MaxPaths = 256 << 20
	MaxPath  = 4096
)

// The errors of Tracked. All but ErrSplit mean that the bytes are no index file
// this package or git would take.
var (
	ErrCorrupt  = errors.New("corrupt git index")
	ErrVersion  = errors.New("git index of an unknown version")
	ErrRequired = errors.New("git index with an unknown required extension")
	ErrTooLarge = errors.New("git index too large")
	ErrSplit    = errors.New("split git index (run git update-index --no-split-index)")
)

// Sizes in bytes of an object id, which is what hashSize must be.
const (
	SHA1   = sha1.Size
	SHA256 = sha256.Size
)

// An index file is
//
//	"DIRC"  version u32  entries u32
//	entry...       see readEntry
//	extension...   signature[4]  length u32  data
//	checksum[hashSize] of all before it; zeros if index.skipHash is set
//
// with numbers in network order.
const headerSize = 12

// Tracked returns the paths in the index file. hashSize is SHA1 or SHA256, by
// extensions.objectFormat of the repository.
func Tracked(data []byte, hashSize int) (*Set, error) {
	switch {
	case hashSize != SHA1 && hashSize != SHA256:
		return nil, fmt.Errorf("object ids of %d bytes: %w", hashSize, ErrVersion)
	case len(data) > MaxFile:
		return nil, fmt.Errorf("%d bytes: %w", len(data), ErrTooLarge)
	case len(data) < headerSize+hashSize || string(data[:4]) != "DIRC":
		return nil, fmt.Errorf("no header: %w", ErrCorrupt)
	}
	// No stage is after the last one, so an empty first path is out of order.
	r := reader{hashSize: hashSize, version: binary.BigEndian.Uint32(data[4:]), stage: stageMask}
	if r.version < 2 || r.version > 4 {
		return nil, fmt.Errorf("version %d: %w", r.version, ErrVersion)
	}
	body, sum := data[:len(data)-hashSize], data[len(data)-hashSize:]
	if !sumMatches(body, sum) {
		return nil, fmt.Errorf("checksum: %w", ErrCorrupt)
	}
	r.rest = body[headerSize:]
	if err := r.entries(binary.BigEndian.Uint32(data[8:])); err != nil {
		return nil, err
	}
	if err := r.extensions(); err != nil {
		return nil, err
	}
	return &Set{names: r.names.String(), ends: r.ends, sparse: r.sparse}, nil
}

func sumMatches(body, sum []byte) bool {
	if len(bytes.Trim(sum, "\x00")) == 0 {
		return true
	}
	if len(sum) == SHA1 {
		want := sha1.Sum(body)
		return bytes.Equal(sum, want[:])
	}
	want := sha256.Sum256(body)
	return bytes.Equal(sum, want[:])
}

// A reader takes an index apart from the front.
type reader struct {
	hashSize int
	version  uint32
	rest     []byte
	names    strings.Builder
	ends     []uint32
	sparse   int
	path     string // of the last entry, a part of names
	stage    uint16
}

func (r *reader) entries(count uint32) error {
	if int64(count) > int64(len(r.rest)/(fixedSize+r.hashSize+3)) {
		return fmt.Errorf("%d entries in %d bytes: %w", count, len(r.rest), ErrCorrupt)
	}
	r.ends = make([]uint32, 0, count)
	for n := range count {
		if err := r.entry(); err != nil {
			return fmt.Errorf("entry %d: %w", n, err)
		}
	}
	return nil
}

// The flags of an entry: a stage, the length of the path (or all ones if it is
// longer), and whether more flags follow.
const (
	flagExtended = 0x4000
	stageMask    = 0x3000
	lengthMask   = 0x0fff
)

// Of the fixed part of an entry, 40 bytes of times, numbers and mode, only the mode
// matters here.
const (
	fixedSize    = 40
	modeOffset   = 24
	modeTypeMask = 0o170000
	modeDir      = 0o040000 // a sparse directory
)

// entry reads one entry:
//
//	fixed[40]  id[hashSize]  flags u16  [more flags u16, version 3 and up]  path
//
// Before version 4 the path is followed by 1 to 8 NULs that make the entry a
// multiple of 8 bytes. In version 4 a number says how many bytes to drop from the
// end of the path before, and what to add follows, with one NUL.
func (r *reader) entry() error {
	start := r.rest
	if len(start) < fixedSize+r.hashSize+4 {
		return fmt.Errorf("cut short: %w", ErrCorrupt)
	}
	mode := binary.BigEndian.Uint32(start[modeOffset:])
	r.rest = r.rest[fixedSize+r.hashSize:]
	flags := binary.BigEndian.Uint16(r.rest)
	r.rest = r.rest[2:]
	if flags&flagExtended != 0 {
		if r.version < 3 {
			return fmt.Errorf("version 3 flags in version %d: %w", r.version, ErrCorrupt)
		}
		r.rest = r.rest[2:]
	}
	keep, err := r.kept()
	if err != nil {
		return err
	}
	added, after, ok := bytes.Cut(r.rest, []byte{0})
	if !ok || min(keep+len(added), lengthMask) != int(flags&lengthMask) {
		return fmt.Errorf("length of path: %w", ErrCorrupt)
	}
	r.rest = after
	if r.version < 4 {
		used := len(start) - len(after)
		pad := (8 - used%8) % 8
		if len(after) < pad || len(bytes.Trim(after[:pad], "\x00")) != 0 {
			return fmt.Errorf("padding: %w", ErrCorrupt)
		}
		r.rest = after[pad:]
	}
	return r.add(keep, added, mode&modeTypeMask == modeDir, flags&stageMask)
}

// kept returns how many bytes the path has in common with the one before. The
// number in the file is written as in pack files: seven bits a byte, the highest
// first, and one added for each continuation.
func (r *reader) kept() (int, error) {
	if r.version < 4 {
		return 0, nil
	}
	drop := 0
	for i, b := range r.rest {
		drop = drop<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			r.rest = r.rest[i+1:]
			break
		}
		if drop++; drop > MaxPath {
			break
		}
	}
	if drop > len(r.path) {
		return 0, fmt.Errorf("drops %d of %d bytes: %w", drop, len(r.path), ErrCorrupt)
	}
	return len(r.path) - drop, nil
}

// add checks the path's place in the order and appends it. It keeps the first bytes
// of the path before.
func (r *reader) add(keep int, added []byte, dir bool, stage uint16) error {
	start, size := r.names.Len(), keep+len(added)
	if size > MaxPath || start+size > MaxPaths {
		return fmt.Errorf("path of %d bytes: %w", size, ErrTooLarge)
	}
	same := r.path[keep:] == string(added)
	if r.path[keep:] > string(added) || same && stage <= r.stage {
		return fmt.Errorf("not in order behind %q: %w", r.path, ErrCorrupt)
	}
	r.stage = stage
	if same {
		return nil // another side of a conflict
	}
	r.names.WriteString(r.path[:keep])
	r.names.Write(added)
	r.ends = append(r.ends, uint32(r.names.Len()))
	r.path = r.names.String()[start:]
	name, slash := strings.CutSuffix(r.path, "/")
	if slash != dir || !clean(name) {
		return fmt.Errorf("path %q: %w", r.path, ErrCorrupt)
	}
	if dir {
		r.sparse++
	}
	return nil
}

// clean reports whether the path has no component that git would refuse to track.
func clean(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// extensions looks for one that must be understood: those begin with a small letter.
func (r *reader) extensions() error {
	for len(r.rest) > 0 {
		if len(r.rest) < 8 || uint64(binary.BigEndian.Uint32(r.rest[4:])) > uint64(len(r.rest)-8) {
			return fmt.Errorf("extension: %w", ErrCorrupt)
		}
		switch name := string(r.rest[:4]); {
		case name == "link":
			return ErrSplit
		case name == "sdir": // there are sparse directories
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("%q: %w", name, ErrRequired)
		}
		r.rest = r.rest[8+binary.BigEndian.Uint32(r.rest[4:]):]
	}
	return nil
}
