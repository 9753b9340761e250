package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// What read(2) of a fanotify group returns (fanotify(7), "Reading fanotify events"):
//
//	event     len u32 │ version u8 │ reserved u8 │ metadata len u16 │ mask u64 │ fd i32 │ pid i32
//	records   type u8 │ pad u8 │ len u16 │ …                        as far as len reaches
//	DFID_NAME fsid 8 bytes │ handle bytes u32 │ handle type i32 │ handle │ name │ NUL │ padding
//
// All in the byte order of the machine.
const (
	metadataSize = unix.FAN_EVENT_METADATA_LEN
	infoHeader   = 4
	fsidSize     = 8
	handleHeader = 8
	maxHandle    = 128 // bytes: MAX_HANDLE_SZ of name_to_handle_at(2)
	version      = 3   // FANOTIFY_METADATA_VERSION
)

var (
	errMalformed = errors.New("the kernel's event is malformed")
	errVersion   = errors.New("the kernel's events have another version")
)

// record is one event as the kernel wrote it; its slices are parts of the buffer.
type record struct {
	mask uint64
	pid  int32
	// dir is fsid, handle header and handle of the directory: its identity. It is
	// empty for an event that concerns no directory, which is an overflow.
	dir  []byte
	name []byte // empty for the directory itself
}

// parse calls each for every event in b. It returns errVersion when nothing can
// be understood and errMalformed when the rest of b cannot; each has been called
// for what stood before.
func parse(b []byte, each func(record)) error {
	for len(b) > 0 {
		if len(b) < metadataSize {
			return fmt.Errorf("%w: %d bytes are left", errMalformed, len(b))
		}
		if b[4] != version {
			return fmt.Errorf("%w: %d, want %d", errVersion, b[4], version)
		}
		size := binary.NativeEndian.Uint32(b)
		head := binary.NativeEndian.Uint16(b[6:])
		if head < metadataSize || uint64(size) < uint64(head) || uint64(size) > uint64(len(b)) {
			return fmt.Errorf("%w: %d of %d bytes behind a head of %d", errMalformed, size, len(b), head)
		}
		r := record{mask: binary.NativeEndian.Uint64(b[8:]), pid: int32(binary.NativeEndian.Uint32(b[20:]))}
		if err := r.info(b[head:size]); err != nil {
			return err
		}
		each(r)
		b = b[size:]
	}
	return nil
}

// info takes directory and name from the records of one event and skips those of
// other types, which newer kernels may add.
func (r *record) info(b []byte) error {
	for len(b) > 0 {
		if len(b) < infoHeader {
			return fmt.Errorf("%w: %d bytes of a record", errMalformed, len(b))
		}
		size := int(binary.NativeEndian.Uint16(b[2:]))
		if size < infoHeader || size > len(b) {
			return fmt.Errorf("%w: a record of %d bytes, %d are left", errMalformed, size, len(b))
		}
		if b[0] == unix.FAN_EVENT_INFO_TYPE_DFID_NAME {
			if err := r.place(b[infoHeader:size]); err != nil {
				return err
			}
		}
		b = b[size:]
	}
	return nil
}

// place reads the body of a DFID_NAME record.
func (r *record) place(b []byte) error {
	const fixed = fsidSize + handleHeader
	if len(b) < fixed {
		return fmt.Errorf("%w: %d bytes of a place", errMalformed, len(b))
	}
	handle := binary.NativeEndian.Uint32(b[fsidSize:])
	if handle > maxHandle || int(handle) > len(b)-fixed {
		return fmt.Errorf("%w: a handle of %d bytes", errMalformed, handle)
	}
	end := fixed + int(handle)
	name, _, ended := bytes.Cut(b[end:], []byte{0})
	if !ended || bytes.IndexByte(name, '/') >= 0 {
		return fmt.Errorf("%w: the name %q", errMalformed, name)
	}
	if len(name) == 1 && name[0] == '.' {
		name = nil // how the kernel names the directory itself
	}
	r.dir, r.name = b[:end], name
	return nil
}

// identity is what parse yields for the directory with this fsid and handle.
func identity(fsid unix.Fsid, handle unix.FileHandle) string {
	b := make([]byte, 0, fsidSize+handleHeader+handle.Size())
	b = binary.NativeEndian.AppendUint32(b, uint32(fsid.Val[0]))
	b = binary.NativeEndian.AppendUint32(b, uint32(fsid.Val[1]))
	b = binary.NativeEndian.AppendUint32(b, uint32(handle.Size()))
	b = binary.NativeEndian.AppendUint32(b, uint32(handle.Type()))
	return string(append(b, handle.Bytes()...))
}
