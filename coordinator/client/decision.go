package client

import (
	"crypto/ed25519"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/canon"
)

// decisionContext separates these signatures from every other kind of record.
const decisionContext = "lazaret/v1/decision\x00"

// signDecision makes the signed form of d with the Session Anchor.
func signDecision(anchor ed25519.PrivateKey, d escalate.Decision) (escalate.SignedDecision, error) {
	payload, err := canon.Marshal(d)
	if err != nil {
		return escalate.SignedDecision{}, err
	}
	message := append([]byte(decisionContext), payload...)
	return escalate.SignedDecision{Payload: payload, Signature: ed25519.Sign(anchor, message)}, nil
}
