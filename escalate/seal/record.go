package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// SignatureSize is how many bytes of a sealed record are its signature.
const SignatureSize = ed25519.SignatureSize

// ErrSignature is returned for a record whose signature is not its signer's.
var ErrSignature = errors.New("signature does not verify")

// SandboxRecord names a record the Agent Sandbox signs.
type SandboxRecord string

// What the sandbox says.
const (
	Request SandboxRecord = "request"
	Cancel  SandboxRecord = "cancel"
	Ack     SandboxRecord = "acknowledgement"
)

// CoordinatorRecord names a record the Session Coordinator signs.
type CoordinatorRecord string

// What the coordinator says.
const (
	Manifest   CoordinatorRecord = "trust-manifest"
	Capability CoordinatorRecord = "session-request-capability"
	Progress   CoordinatorRecord = "progress"
	Chunk      CoordinatorRecord = "result-chunk"
	Result     CoordinatorRecord = "terminal-result"
)

// AnchorRecord names a record a Session Anchor signs.
type AnchorRecord string

// Decision is the developer's answer.
const Decision AnchorRecord = "decision"

// shown is hashed, not signed: the digest a decision carries.
const shown = "shown"

const prefix = "lazaret/v1/"

// message is what is signed; record names hold no zero byte.
func message(record string, payload []byte) []byte {
	m := make([]byte, 0, len(prefix)+len(record)+9+len(payload))
	m = append(m, prefix...)
	m = append(m, record...)
	m = append(m, 0)
	m = binary.BigEndian.AppendUint64(m, uint64(len(payload)))
	return append(m, payload...)
}

// ShownDigest is the digest of what a developer was shown.
func ShownDigest(payload []byte) []byte {
	sum := sha256.Sum256(message(shown, payload))
	return sum[:]
}

func seal(key ed25519.PrivateKey, record string, payload []byte) []byte {
	return append(ed25519.Sign(key, message(record, payload)), payload...)
}

// open returns the payload of sealed, a part of the same array.
func open(key ed25519.PublicKey, record string, sealed []byte) ([]byte, error) {
	if len(sealed) < SignatureSize {
		return nil, fmt.Errorf("open %s: %d bytes hold no signature: %w", record, len(sealed), ErrSignature)
	}
	payload := sealed[SignatureSize:]
	if err := verify(key, record, payload, sealed[:SignatureSize]); err != nil {
		return nil, err
	}
	return payload, nil
}

func verify(key ed25519.PublicKey, record string, payload, signature []byte) error {
	// Verify panics on a key of another length; a zero key must refuse instead.
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, message(record, payload), signature) {
		return fmt.Errorf("open %s: %w", record, ErrSignature)
	}
	return nil
}
