package seal

import (
	"crypto/ed25519"
	"errors"
	"fmt"
)

// ErrKey is returned for bytes that are no key.
var ErrKey = errors.New("not an Ed25519 key")

// SandboxKey is the Agent Sandbox's request-signing key. Everyone inside holds it.
type SandboxKey struct{ key ed25519.PrivateKey }

// SandboxPublic verifies what the sandbox signed.
type SandboxPublic struct{ key ed25519.PublicKey }

// CoordinatorKey is the Session Coordinator's signing key. It never leaves HC.
type CoordinatorKey struct{ key ed25519.PrivateKey }

// CoordinatorPublic verifies what the coordinator signed.
type CoordinatorPublic struct{ key ed25519.PublicKey }

// AnchorKey is a Session Anchor's private key. It never leaves the Client CLI.
type AnchorKey struct{ key ed25519.PrivateKey }

// AnchorPublic verifies what a Session Anchor signed.
type AnchorPublic struct{ key ed25519.PublicKey }

// NewSandboxKey draws a key.
func NewSandboxKey() (SandboxKey, error) {
	k, err := draw()
	return SandboxKey{k}, err
}

// NewCoordinatorKey draws a key.
func NewCoordinatorKey() (CoordinatorKey, error) {
	k, err := draw()
	return CoordinatorKey{k}, err
}

func draw() (ed25519.PrivateKey, error) {
	_, k, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("draw a signing key: %w", err)
	}
	return k, nil
}

// SandboxKeyFrom restores a key from its 32-byte seed.
func SandboxKeyFrom(seed []byte) (SandboxKey, error) {
	k, err := fromSeed(seed)
	return SandboxKey{k}, err
}

// CoordinatorKeyFrom restores a key from its 32-byte seed.
func CoordinatorKeyFrom(seed []byte) (CoordinatorKey, error) {
	k, err := fromSeed(seed)
	return CoordinatorKey{k}, err
}

// AnchorKeyFrom takes the key a Client CLI drew for its session.
func AnchorKeyFrom(key ed25519.PrivateKey) (AnchorKey, error) {
	if len(key) != ed25519.PrivateKeySize {
		return AnchorKey{}, fmt.Errorf("session anchor of %d bytes: %w", len(key), ErrKey)
	}
	return AnchorKey{key}, nil
}

func fromSeed(seed []byte) (ed25519.PrivateKey, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("seed of %d bytes: %w", len(seed), ErrKey)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// SandboxPublicFrom takes a 32-byte public key.
func SandboxPublicFrom(b []byte) (SandboxPublic, error) {
	k, err := public(b)
	return SandboxPublic{k}, err
}

// CoordinatorPublicFrom takes a 32-byte public key.
func CoordinatorPublicFrom(b []byte) (CoordinatorPublic, error) {
	k, err := public(b)
	return CoordinatorPublic{k}, err
}

// AnchorPublicFrom takes a 32-byte public key.
func AnchorPublicFrom(b []byte) (AnchorPublic, error) {
	k, err := public(b)
	return AnchorPublic{k}, err
}

func public(b []byte) (ed25519.PublicKey, error) {
	if len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("public key of %d bytes: %w", len(b), ErrKey)
	}
	return ed25519.PublicKey(b), nil
}

// Seed returns the 32 bytes the key is restored from.
func (k SandboxKey) Seed() []byte { return k.key.Seed() }

// Public returns what verifies k's signatures.
func (k SandboxKey) Public() SandboxPublic { return SandboxPublic{publicOf(k.key)} }

// Public returns what verifies k's signatures.
func (k CoordinatorKey) Public() CoordinatorPublic { return CoordinatorPublic{publicOf(k.key)} }

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// Bytes returns the 32-byte public key.
func (k SandboxPublic) Bytes() []byte { return k.key }

// Bytes returns the 32-byte public key.
func (k CoordinatorPublic) Bytes() []byte { return k.key }

// Seal signs payload as r.
func (k SandboxKey) Seal(r SandboxRecord, payload []byte) []byte {
	return seal(k.key, string(r), payload)
}

// Seal signs payload as r.
func (k CoordinatorKey) Seal(r CoordinatorRecord, payload []byte) []byte {
	return seal(k.key, string(r), payload)
}

// Sign returns the signature alone: a decision travels beside it.
func (k AnchorKey) Sign(r AnchorRecord, payload []byte) []byte {
	return ed25519.Sign(k.key, message(string(r), payload))
}

// Open verifies sealed as r and returns its payload, a part of the same array.
func (k SandboxPublic) Open(r SandboxRecord, sealed []byte) ([]byte, error) {
	return open(k.key, string(r), sealed)
}

// Open verifies sealed as r and returns its payload, a part of the same array.
func (k CoordinatorPublic) Open(r CoordinatorRecord, sealed []byte) ([]byte, error) {
	return open(k.key, string(r), sealed)
}

// Verify checks a signature over payload as r.
func (k AnchorPublic) Verify(r AnchorRecord, payload, signature []byte) error {
	return verify(k.key, string(r), payload, signature)
}
