package control

// The channel, host on the left:
//
//	                      ◄── Reply{ID: 0}          ready, once, first of all
//	Request{ID: n, Op…}   ──►
//	                      ◄── Reply{ID: n, Code…}   in any order
//	end of file           ──►                       the init ends, and the sandbox with it
//
// Each frame is a 4-byte big-endian length and that many bytes of canonical CBOR.

// Version is the protocol's version, reported by the ready frame.
const Version = 1

// MaxFile is the largest content, in bytes, that ReadFile and WriteFile move.
const MaxFile = 4 << 20

// MaxPath is the longest guest path, in bytes (PATH_MAX of Linux).
const MaxPath = 4096

const (
	maxMessage = 512              // bytes of a reply's message
	maxFrame   = MaxFile + 16<<10 // bytes of any frame
	maxOpen    = 64               // requests without an answer
	maxCount   = 1 << 22          // processes a reply may speak of: PID_MAX_LIMIT
)

// Op says what a request asks for. The numbers are the protocol's.
type Op uint8

// The operations.
const (
	OpPoke          Op = 1 // Path
	OpEndSession    Op = 2 // Session → Count
	OpSignalSession Op = 3 // Session, Signal → Count
	OpReadFile      Op = 4 // Path, Limit → Data
	OpWriteFile     Op = 5 // Path, Mode, Data
	OpStats         Op = 6 // → Stats
)

// Request is one frame from the host.
type Request struct {
	ID      uint64 `cbor:"1,keyasint"` // from 1, never repeated
	Op      Op     `cbor:"2,keyasint"`
	Session string `cbor:"3,keyasint,omitempty"`
	Signal  uint8  `cbor:"4,keyasint,omitempty"`
	Path    string `cbor:"5,keyasint,omitempty"`
	Mode    uint32 `cbor:"6,keyasint,omitempty"` // permission bits
	Data    []byte `cbor:"7,keyasint,omitempty"`
	Limit   uint32 `cbor:"8,keyasint,omitempty"` // bytes
}

// Code says how a request went. The numbers are the protocol's.
type Code uint8

// The outcomes.
const (
	CodeOK         Code = 0
	CodeFailed     Code = 1 // Message says how
	CodeNotFound   Code = 2 // no such file, or no such session
	CodeTooLarge   Code = 3 // the file is longer than Limit
	CodeNotRegular Code = 4 // the path names something other than a regular file
	CodeInvalid    Code = 5 // the request makes no sense
)

// Reply is one frame from the guest init.
type Reply struct {
	ID      uint64 `cbor:"1,keyasint"` // the request's, or 0 for ready
	Code    Code   `cbor:"2,keyasint"`
	Message string `cbor:"3,keyasint,omitempty"` // hostile text
	Data    []byte `cbor:"4,keyasint,omitempty"`
	Count   uint32 `cbor:"5,keyasint,omitempty"` // processes reached, or the protocol version when ready
	Stats   *Stats `cbor:"6,keyasint,omitempty"`
}

// Stats is what the guest says of itself: hostile numbers, for display only.
type Stats struct {
	Processes   uint32         `cbor:"1,keyasint"` // zombies and the init included
	MemoryBytes uint64         `cbor:"2,keyasint"`
	CPUMicros   uint64         `cbor:"3,keyasint"` // since the sandbox began
	Sessions    []SessionStats `cbor:"4,keyasint,omitempty"`
	// ProcessLimit says whether sessions have cgroups, which bound their tasks;
	// without, only RLIMIT_NPROC does.
	ProcessLimit bool `cbor:"5,keyasint"`
}

// SessionStats is one session's share.
type SessionStats struct {
	Session     string `cbor:"1,keyasint"`
	Processes   uint32 `cbor:"2,keyasint"`
	MemoryBytes uint64 `cbor:"3,keyasint"`
	CPUMicros   uint64 `cbor:"4,keyasint"`
}
