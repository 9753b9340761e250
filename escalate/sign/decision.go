package sign

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/internal/canon"
)

// What a caller branches on.
var (
	// ErrCapability is returned for a capability of another session, Domain,
	// generation or sandbox key.
	ErrCapability = errors.New("capability is for something else")
	// ErrDecision is returned for a decision that is signed but makes no sense.
	ErrDecision = errors.New("malformed decision")
)

// maxDecision bounds an encoded Decision: an edited vector, a reason, and names.
const maxDecision = escalate.MaxArgvBytes + escalate.MaxWhyBytes + 4096

// Digest returns the digest of p as it is shown: every field but the digest
// itself. A client computes it from what it displayed, so that what it signs is
// what its developer saw.
func Digest(p escalate.Pending) ([]byte, error) {
	p.Digest = nil
	b, err := canon.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("digest request %q: %w", p.Request.ID, err)
	}
	return seal.ShownDigest(b), nil
}

// Decision signs d with a Session Anchor.
func Decision(anchor ed25519.PrivateKey, d escalate.Decision) (escalate.SignedDecision, error) {
	key, err := seal.AnchorKeyFrom(anchor)
	if err != nil {
		return escalate.SignedDecision{}, err
	}
	b, err := canon.Marshal(d)
	if err != nil {
		return escalate.SignedDecision{}, fmt.Errorf("sign decision about %q: %w", d.Request, err)
	}
	return escalate.SignedDecision{Payload: b, Signature: key.Sign(seal.Decision, b)}, nil
}

// VerifyDecision verifies s and then decodes it. The caller still compares
// request, session and digest with what waits.
func VerifyDecision(anchor ed25519.PublicKey, s escalate.SignedDecision) (escalate.Decision, error) {
	key, err := seal.AnchorPublicFrom(anchor)
	if err != nil {
		return escalate.Decision{}, err
	}
	if err := key.Verify(seal.Decision, s.Payload, s.Signature); err != nil {
		return escalate.Decision{}, err
	}
	var d escalate.Decision
	if err := canon.Unmarshal(s.Payload, maxDecision, &d); err != nil {
		return escalate.Decision{}, err
	}
	switch d.Verdict {
	case escalate.VerdictApprove:
	case escalate.VerdictDeny, escalate.VerdictAbort:
		if len(d.Argv) > 0 {
			return escalate.Decision{}, fmt.Errorf("a denial with a command to run: %w", ErrDecision)
		}
	default:
		return escalate.Decision{}, fmt.Errorf("verdict %d: %w", d.Verdict, ErrDecision)
	}
	return d, nil
}

// SameDigest compares two digests.
func SameDigest(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) }
