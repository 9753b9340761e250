package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// How the preparer and its worker talk. Both are the same binary, so there is no
// version. The worker's descriptors are
//
//	0  one job
//	1  events, the last of which is eventDone or eventFailed
//	2  text for a person, kept only for an unexpected end
//	3  the root directory to fill, or to empty
//	4… the stored layers, bottom first, and then its lifetime (package userns)
//
// A message is its length in four bytes, most significant first, and a record.

const (
	workerMode   = "__image-worker"
	maxJob       = 1 << 20
	maxEvent     = 64 << 10
	rootFD       = 3
	firstLayerFD = 4
)

// What a worker does.
const (
	jobUnpack = "unpack" // apply the layers to an empty root directory
	jobEmpty  = "empty"  // remove everything in the root directory
)

type job struct {
	Action string      `cbor:"1,keyasint"`
	Layers []jobLayer  `cbor:"2,keyasint"`
	Limits vet.Limits  `cbor:"3,keyasint"`
	Owners vet.Owners  `cbor:"4,keyasint"`
	Strict bool        `cbor:"5,keyasint"` // refuse to work without Landlock
	Switch testSwitch  `cbor:"6,keyasint"`
	Adapt  adaptations `cbor:"7,keyasint"`
}

// jobLayer is one stored layer: Size bytes at Offset of its descriptor. Digest is
// empty where the source names layers by content only.
type jobLayer struct {
	Offset int64  `cbor:"1,keyasint"`
	Size   int64  `cbor:"2,keyasint"`
	Digest string `cbor:"3,keyasint"` // "sha256:…" of the stored bytes
	DiffID string `cbor:"4,keyasint"` // "sha256:…" of the archive within
}

// adaptations are changes made to a tree once its layers are applied.
type adaptations struct {
	AptAsRoot bool `cbor:"1,keyasint"` // apt must not change its user
}

// testSwitch turns protections off one at a time, so that tests can show that
// each of the others holds by itself. Only code in _test files sets it.
type testSwitch struct {
	NoVet      bool `cbor:"1,keyasint"`
	NoChroot   bool `cbor:"2,keyasint"`
	NoLandlock bool `cbor:"3,keyasint"`
}

const (
	eventProgress = "progress"
	eventNote     = "note"
	eventDone     = "done"
	eventFailed   = "failed"
)

// Why a worker failed, for the preparer to find the words.
const (
	failVet      = "vet"
	failSpace    = "space"
	failDigest   = "digest"
	failArchive  = "archive"
	failConfine  = "confine"
	failInternal = "internal"
)

type event struct {
	Kind    string   `cbor:"1,keyasint"`
	Layer   int      `cbor:"2,keyasint"` // index of the layer at work
	Bytes   int64    `cbor:"3,keyasint"` // stored bytes read so far, all layers
	Entries int      `cbor:"4,keyasint"`
	Content int64    `cbor:"5,keyasint"` // bytes written into files
	Why     string   `cbor:"6,keyasint"`
	Rule    vet.Rule `cbor:"7,keyasint"`
	Text    string   `cbor:"8,keyasint"` // printable
}

func writeMessage(w io.Writer, v any) error {
	b, err := canon.Marshal(v)
	if err != nil {
		return err
	}
	msg := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	_, err = w.Write(append(msg, b...))
	return err
}

// readMessage reads one message of at most limit bytes; io.EOF only between two.
func readMessage(r io.Reader, limit int, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > int64(limit) {
		return fmt.Errorf("read %T: %d bytes exceed the limit of %d", v, n, limit)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read %T: %w", v, err)
	}
	return canon.Unmarshal(b, limit, v)
}
