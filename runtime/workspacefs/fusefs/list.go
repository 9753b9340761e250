package fusefs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// A directory is read without a handle, so each request says only where to go on.
// Entries are therefore sorted by a secret hash of their names, and the hash is the
// position: an entry that stays is listed exactly once, however often the listing is
// made anew in between.

// entry is one name to list.
type entry struct {
	name     string
	inode    uint64
	kind     uint32 // type bits
	position uint64
}

// listing is one directory, read.
type listing struct {
	entries []entry
}

// firstPosition leaves room for "." and "..".
const firstPosition = 3

var positions = maphash.MakeSeed()

func position(name string) uint64 {
	return max(maphash.String(positions, name)>>1, firstPosition)
}

// ReadDir answers READDIR.
func (v *view) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	dir, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	entries, err := v.entriesFrom(dir, in.Offset)
	if err != nil {
		return status(err)
	}
	for i := range entries {
		e := &entries[i]
		if !out.AddDirEntry(fuse.DirEntry{Mode: e.kind, Name: e.name, Ino: e.inode, Off: e.position}) {
			return fuse.OK
		}
	}
	v.finished(dir)
	return fuse.OK
}

// ReadDirPlus answers READDIRPLUS: a listing that spares the lookups.
func (v *view) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	dir, err := v.node(in.NodeId)
	if err != nil {
		return status(err)
	}
	entries, err := v.entriesFrom(dir, in.Offset)
	if err != nil {
		return status(err)
	}
	for i := range entries {
		e := &entries[i]
		known := out.AddDirLookupEntry(fuse.DirEntry{Mode: e.kind, Name: e.name, Ino: e.inode, Off: e.position})
		if known == nil {
			return fuse.OK
		}
		if e.position < firstPosition || dir.virtual() {
			continue
		}
		// What is gone by now stays listed, and the kernel will ask for it.
		if f, err := v.find(dir, e.name); err == nil && f.st != nil {
			v.entry(known, dir, e.name, f)
		}
	}
	v.finished(dir)
	return fuse.OK
}

// entriesFrom returns what is listed after a position.
func (v *view) entriesFrom(dir *node, offset uint64) ([]entry, error) {
	if dir.virtual() {
		return after(v.virtualEntries(), offset), nil
	}
	dir.dir.mu.Lock()
	l := dir.dir.listing
	dir.dir.mu.Unlock()
	if l == nil || offset == 0 {
		if _, err := v.current(dir); err != nil {
			return nil, err
		}
		entries, err := v.list(dir)
		if err != nil {
			return nil, err
		}
		l = &listing{entries: entries}
		v.remember(dir, l)
	}
	return after(l.entries, offset), nil
}

func after(entries []entry, offset uint64) []entry {
	i, _ := slices.BinarySearchFunc(entries, offset, func(e entry, offset uint64) int {
		if e.position <= offset {
			return -1
		}
		return 1
	})
	return entries[i:]
}

// maxListings bounds the listings that are remembered between requests.
const maxListings = 64

// remember keeps a listing for the requests that go on with it, in place of the one
// kept for longest.
func (v *view) remember(dir *node, l *listing) {
	dir.dir.mu.Lock()
	dir.dir.listing = l
	dir.dir.mu.Unlock()
	v.mu.Lock()
	v.listed = append(v.listed, dir)
	var oldest *node
	if len(v.listed) > maxListings {
		oldest = v.listed[0]
		v.listed = append(v.listed[:0], v.listed[1:]...)
	}
	v.mu.Unlock()
	if oldest != nil && oldest != dir {
		v.finished(oldest)
	}
}

// finished drops a listing that was read to its end.
func (v *view) finished(dir *node) {
	if dir.dir == nil {
		return
	}
	dir.dir.mu.Lock()
	dir.dir.listing = nil
	dir.dir.mu.Unlock()
}

func (v *view) virtualEntries() []entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	entries := dots(fuse.FUSE_ROOT_ID)
	for i := range v.gits {
		entries = append(entries, entry{strconv.Itoa(i), fuse.FUSE_UNKNOWN_INO, unix.S_IFDIR, uint64(firstPosition + i)})
	}
	return entries
}

func dots(inode uint64) []entry {
	return []entry{{".", inode, unix.S_IFDIR, 1}, {"..", fuse.FUSE_UNKNOWN_INO, unix.S_IFDIR, 2}}
}

// list reads a directory as it is shown.
func (v *view) list(dir *node) ([]entry, error) {
	if dir.key.backend == host {
		if err := v.enter(dir); err != nil {
			return nil, err
		}
	}
	read, err := v.read(dir, dir.key.backend)
	if err != nil {
		return nil, err
	}
	if v.explicit && v.unwatched(dir) {
		// The kernel keeps listings until it is told.
		time.AfterFunc(v.fs.config.Unwatched, func() { v.notifier.inode(dir.id) })
	}
	entries := dots(v.fs.inode(dir.key.inode, dir.key.device, dir.key.backend))
	if dir.key.backend != host {
		entries = append(entries, read...)
	} else if entries, err = v.union(dir, entries, read); err != nil {
		return nil, err
	}
	for i := range entries[2:] {
		entries[2+i].position = position(entries[2+i].name)
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.position, b.position) })
	return entries, nil
}

// union appends what is visible of a host directory's names and its mirrors'.
func (v *view) union(dir *node, entries, own []entry) ([]entry, error) {
	rules, err := v.rules(dir)
	if err != nil {
		return nil, err
	}
	mirrored := map[string]route.Names{}
	var mirrors [transient + 1][]entry
	for b := transient; b >= held; b-- { // held last: it is what names.Own tells
		if mirrors[b], err = v.read(dir, b); err != nil {
			return nil, err
		}
		for _, e := range mirrors[b] {
			mirrored[e.name] = route.Names{Own: kindOf(e.kind)}
		}
	}
	for _, e := range own {
		n := mirrored[e.name]
		n.Host = kindOf(e.kind)
		if len(mirrored) > 0 {
			mirrored[e.name] = n
		}
		switch v.fs.config.Router.Name(rules, e.name, n).Class {
		case route.Shared, route.ReadOnly:
			entries = append(entries, e)
		case route.StandIn:
			e.kind = unix.S_IFREG
			entries = append(entries, e)
		}
	}
	for b := held; b <= transient; b++ {
		for _, e := range mirrors[b] {
			n := mirrored[e.name]
			if shownFrom(v.fs.config.Router.Name(rules, e.name, n), n) == b {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

// shownFrom returns the mirror a name is shown from, host for none. It agrees with
// found.choose.
func shownFrom(verdict route.Verdict, n route.Names) backend {
	switch verdict.Class {
	case route.Held:
		return held
	case route.Transient:
		return transient
	case route.Shared, route.ReadOnly:
		if n.Host == route.None {
			return held
		}
	}
	return host
}

// read returns the names one backend has in a directory, without "." and "..";
// none when there is no mirror.
func (v *view) read(dir *node, b backend) ([]entry, error) {
	d, err := v.base(dir, b)
	if d == nil || err != nil {
		return nil, err
	}
	defer d.release()
	fd, err := unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	device := dir.key.device
	if dir.key.backend != b {
		device = v.fs.device // numbers of mirrors do not depend on it
	}
	return v.fs.readAll(fd, b, device)
}

// maxEntries bounds what is read of one directory; a larger one gives EOVERFLOW.
const maxEntries = 1 << 20

func (fs *FS) readAll(fd int, b backend, device uint64) (entries []entry, err error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return entries, err
		}
		for rest := buf[:n]; len(rest) > 0; {
			var e entry
			if e, rest = dirent(rest); e.name == "." || e.name == ".." || e.inode == 0 {
				continue
			}
			e.inode = fs.inode(e.inode, device, b)
			if e.kind == 0 {
				if st, err := statAt(fd, e.name); err == nil {
					e.kind = uint32(st.Mode) & unix.S_IFMT
				}
			}
			entries = append(entries, e)
		}
		if len(entries) > maxEntries {
			return nil, unix.EOVERFLOW
		}
	}
}

// dirent takes one entry of getdents64(2) off the buffer.
func dirent(buf []byte) (entry, []byte) {
	const nameAt = 19
	size := int(binary.NativeEndian.Uint16(buf[16:]))
	name := buf[nameAt:size]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return entry{
		inode: binary.NativeEndian.Uint64(buf),
		kind:  uint32(buf[18]) << 12,
		name:  string(name),
	}, buf[size:]
}
