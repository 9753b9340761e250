package wire

import (
	"errors"
	"fmt"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/domain"
)

// Limits of the mailbox (S2 §3.7).
const (
	// MaxRecord is the longest complete record, signature included.
	MaxRecord = 65536
	// MaxChunk is the most output one chunk carries.
	MaxChunk = 49152
	// MaxUnacknowledged is how many chunks of one request may wait for the asker.
	MaxUnacknowledged = 8
	maxPayload        = MaxRecord - seal.SignatureSize
)

// ErrMalformed is returned for a verified record that breaks a rule of this package.
var ErrMalformed = errors.New("malformed record")

// Request is what a sandboxed process asks for.
type Request struct {
	ID      domain.RequestID `cbor:"1,keyasint"`
	Session domain.SessionID `cbor:"2,keyasint"`
	Argv    []string         `cbor:"3,keyasint"`
	// Dir is the asker's working directory inside the sandbox, absolute. The
	// host decides which host directory that is, if any.
	Dir string `cbor:"4,keyasint"`
	Why string `cbor:"5,keyasint"`
	// Capability is the sealed Session Request Capability the asker was given.
	Capability []byte `cbor:"6,keyasint"`
}

// Cancel withdraws a request, and ends what runs for it.
type Cancel struct {
	Request domain.RequestID `cbor:"1,keyasint"`
	Session domain.SessionID `cbor:"2,keyasint"`
}

// Ack says every chunk up to Sequence has been taken over by the asker.
type Ack struct {
	Request  domain.RequestID `cbor:"1,keyasint"`
	Session  domain.SessionID `cbor:"2,keyasint"`
	Sequence uint32           `cbor:"3,keyasint"`
	// Final says the result was read too: nothing of the request is needed any more.
	Final bool `cbor:"4,keyasint"`
}

// Capability lets a session ask. HC signs it and puts it into the environment of
// the session's command.
type Capability struct {
	Session    domain.SessionID  `cbor:"1,keyasint"`
	Domain     domain.ID         `cbor:"2,keyasint"`
	Generation domain.Generation `cbor:"3,keyasint"`
	Sandbox    []byte            `cbor:"4,keyasint"` // the key requests are signed with
}

// Manifest binds the generation's two public keys to its identity.
type Manifest struct {
	Domain      domain.ID         `cbor:"1,keyasint"`
	Generation  domain.Generation `cbor:"2,keyasint"`
	Coordinator []byte            `cbor:"3,keyasint"`
	Sandbox     []byte            `cbor:"4,keyasint"`
}

// Progress says a request was approved and runs.
type Progress struct {
	Request domain.RequestID `cbor:"1,keyasint"`
	Outcome escalate.Outcome `cbor:"2,keyasint"`
	// Argv is what runs when the developer edited the request, else empty.
	Argv []string `cbor:"3,keyasint"`
}

// Stream says where output came from.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// Chunk is a piece of output. Sequence counts from 1 over both streams, in the
// order the host read them.
type Chunk struct {
	Request  domain.RequestID `cbor:"1,keyasint"`
	Sequence uint32           `cbor:"2,keyasint"`
	Stream   Stream           `cbor:"3,keyasint"`
	Data     []byte           `cbor:"4,keyasint"`
}

// Result is how a request ended.
type Result struct {
	Request domain.RequestID `cbor:"1,keyasint"`
	Outcome escalate.Outcome `cbor:"2,keyasint"`
	Status  int              `cbor:"3,keyasint"` // of the command when it ran: 128+n for signal n
	Chunks  uint32           `cbor:"4,keyasint"` // how many chunks there were
	Argv    []string         `cbor:"5,keyasint"` // what ran, when edited
	Reason  string           `cbor:"6,keyasint"` // of a denial, refusal or failure
}

// SealSandbox signs v as record r of the sandbox.
func SealSandbox(key seal.SandboxKey, r seal.SandboxRecord, v any) ([]byte, error) {
	payload, err := encode(string(r), v)
	if err != nil {
		return nil, err
	}
	return key.Seal(r, payload), nil
}

// SealCoordinator signs v as record r of the coordinator.
func SealCoordinator(key seal.CoordinatorKey, r seal.CoordinatorRecord, v any) ([]byte, error) {
	payload, err := encode(string(r), v)
	if err != nil {
		return nil, err
	}
	return key.Seal(r, payload), nil
}

func encode(record string, v any) ([]byte, error) {
	payload, err := canon.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("encode %s: %d bytes exceed the limit of %d: %w", record, len(payload), maxPayload, ErrMalformed)
	}
	return payload, nil
}

// OpenRequest verifies b and then decodes it. It checks names and encoding, not
// whether the request is one to show: package policy does that.
func OpenRequest(key seal.SandboxPublic, b []byte) (Request, error) {
	var r Request
	if err := openSandbox(key, seal.Request, b, &r); err != nil {
		return Request{}, err
	}
	return r, errors.Join(checkRequest(r.ID), checkSession(r.Session))
}

// OpenCancel verifies and decodes a Cancel.
func OpenCancel(key seal.SandboxPublic, b []byte) (Cancel, error) {
	var c Cancel
	if err := openSandbox(key, seal.Cancel, b, &c); err != nil {
		return Cancel{}, err
	}
	return c, errors.Join(checkRequest(c.Request), checkSession(c.Session))
}

// OpenAck verifies and decodes an Ack.
func OpenAck(key seal.SandboxPublic, b []byte) (Ack, error) {
	var a Ack
	if err := openSandbox(key, seal.Ack, b, &a); err != nil {
		return Ack{}, err
	}
	return a, errors.Join(checkRequest(a.Request), checkSession(a.Session))
}

// OpenCapability verifies and decodes a Capability.
func OpenCapability(key seal.CoordinatorPublic, b []byte) (Capability, error) {
	var c Capability
	if err := openCoordinator(key, seal.Capability, b, &c); err != nil {
		return Capability{}, err
	}
	return c, checkSession(c.Session)
}

// OpenManifest verifies and decodes a Manifest.
func OpenManifest(key seal.CoordinatorPublic, b []byte) (Manifest, error) {
	var m Manifest
	if err := openCoordinator(key, seal.Manifest, b, &m); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// OpenProgress verifies and decodes a Progress.
func OpenProgress(key seal.CoordinatorPublic, b []byte) (Progress, error) {
	var p Progress
	if err := openCoordinator(key, seal.Progress, b, &p); err != nil {
		return Progress{}, err
	}
	return p, checkRequest(p.Request)
}

// OpenChunk verifies and decodes a Chunk.
func OpenChunk(key seal.CoordinatorPublic, b []byte) (Chunk, error) {
	var c Chunk
	if err := openCoordinator(key, seal.Chunk, b, &c); err != nil {
		return Chunk{}, err
	}
	if len(c.Data) > MaxChunk || c.Sequence == 0 || (c.Stream != Stdout && c.Stream != Stderr) {
		return Chunk{}, fmt.Errorf("chunk %d of %d bytes on stream %d: %w", c.Sequence, len(c.Data), c.Stream, ErrMalformed)
	}
	return c, checkRequest(c.Request)
}

// OpenResult verifies and decodes a Result.
func OpenResult(key seal.CoordinatorPublic, b []byte) (Result, error) {
	var r Result
	if err := openCoordinator(key, seal.Result, b, &r); err != nil {
		return Result{}, err
	}
	return r, checkRequest(r.Request)
}

func openSandbox(key seal.SandboxPublic, r seal.SandboxRecord, b []byte, v any) error {
	if err := checkSize(string(r), b); err != nil {
		return err
	}
	payload, err := key.Open(r, b)
	if err != nil {
		return err
	}
	return canon.Unmarshal(payload, maxPayload, v)
}

func openCoordinator(key seal.CoordinatorPublic, r seal.CoordinatorRecord, b []byte, v any) error {
	if err := checkSize(string(r), b); err != nil {
		return err
	}
	payload, err := key.Open(r, b)
	if err != nil {
		return err
	}
	return canon.Unmarshal(payload, maxPayload, v)
}

func checkSize(record string, b []byte) error {
	if len(b) > MaxRecord {
		return fmt.Errorf("open %s: %d bytes exceed the limit of %d: %w", record, len(b), MaxRecord, ErrMalformed)
	}
	return nil
}

func checkRequest(id domain.RequestID) error {
	_, err := domain.ParseRequestID(string(id))
	return err
}

func checkSession(id domain.SessionID) error {
	_, err := domain.ParseSessionID(string(id))
	return err
}
