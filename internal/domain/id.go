package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrMalformedID is returned by every Parse function of this package.
var ErrMalformedID = errors.New("malformed identifier")

const (
	idHex     = 12 // S1 §4.3.1: the first 12 hexadecimal digits of the Domain digest
	randomHex = 32 // 128 random bits
)

// ID is a Domain ID: the first 12 hexadecimal digits of the Domain's Digest.
// It names resources; it never authenticates anyone (S2 §2).
type ID string

// Digest is the full SHA-256 identity of a Domain, stored in its Domain Root
// and compared before any reuse (SR-11): twelve digits may collide, this may not.
type Digest [sha256.Size]byte

// Generation names one attempt to bring a Domain's transient resources up.
type Generation string

// SessionID names one Client Session.
type SessionID string

// ClientID names one protocol identity of a client process.
type ClientID string

// RequestID names one Host Escalation request. The sandbox draws it.
type RequestID string

// Identify derives a Domain's identity from an Agent Profile name and the
// canonical (absolute, symlink-free) path of the Agent Workspace, as
// SHA-256("<profile>:<workspace>") (S1 §4.3.1, FR-1).
func Identify(profile, canonicalWorkspace string) (ID, Digest) {
	sum := Digest(sha256.Sum256([]byte(profile + ":" + canonicalWorkspace)))
	return sum.ID(), sum
}

// ID returns the short name of the Domain the digest identifies.
func (d Digest) ID() ID { return ID(hex.EncodeToString(d[:])[:idHex]) }

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// NewGeneration draws a fresh generation name. It is half as long as the other
// random names because it is part of Unix socket paths, which are limited to
// 108 bytes (unix(7)).
func NewGeneration() Generation { return Generation(random(randomHex / 2)) }

// NewSessionID draws a fresh session name.
func NewSessionID() SessionID { return SessionID(random(randomHex)) }

// NewClientID draws a fresh client name.
func NewClientID() ClientID { return ClientID(random(randomHex)) }

// NewRequestID draws a fresh request name.
func NewRequestID() RequestID { return RequestID(random(randomHex)) }

// ParseID checks s as a Domain ID.
func ParseID(s string) (ID, error) { return parse[ID](s, idHex) }

// ParseGeneration checks s as a generation name.
func ParseGeneration(s string) (Generation, error) { return parse[Generation](s, randomHex/2) }

// ParseSessionID checks s as a session name.
func ParseSessionID(s string) (SessionID, error) { return parse[SessionID](s, randomHex) }

// ParseClientID checks s as a client name.
func ParseClientID(s string) (ClientID, error) { return parse[ClientID](s, randomHex) }

// ParseRequestID checks s as a request name. Requests come from the sandbox, so
// this is the gate that keeps path separators and control bytes out of names.
func ParseRequestID(s string) (RequestID, error) { return parse[RequestID](s, randomHex) }

func parse[T ~string](s string, digits int) (T, error) {
	if len(s) != digits {
		return "", fmt.Errorf("%w: %q has %d characters, want %d", ErrMalformedID, s, len(s), digits)
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("%w: %q is not lower-case hexadecimal", ErrMalformedID, s)
		}
	}
	return T(s), nil
}

func random(digits int) string {
	b := make([]byte, digits/2)
	rand.Read(b) // never fails: crypto/rand panics rather than return weak bytes
	return hex.EncodeToString(b)
}
