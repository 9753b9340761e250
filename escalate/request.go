package escalate

import "lazaret.dev/lazaret/internal/domain"

// Limits of a request. Each is checked before anything is stored or shown.
const (
	MaxArgs      = 256
	MaxArgBytes  = 8 << 10
	MaxArgvBytes = 32 << 10
	MaxWhyBytes  = 4 << 10
)

// Request is what a sandboxed process asks the host to run. It cannot name an
// environment, standard input, or a host path: those are the host's (SR-3).
type Request struct {
	ID      domain.RequestID `cbor:"1,keyasint"`
	Session domain.SessionID `cbor:"2,keyasint"`
	// Argv is the argument vector, Argv[0] the program. It is never given to a
	// shell.
	Argv []string `cbor:"3,keyasint"`
	// Dir is the working directory relative to the workspace, "." at least.
	Dir string `cbor:"4,keyasint"`
	Why string `cbor:"5,keyasint"`
}

// Pending is a verified request as it is shown to the developer.
type Pending struct {
	Request Request `cbor:"1,keyasint"`
	// Digest is SHA-256 over the bytes the decision binds to: the canonical
	// Shown record. A decision about any other digest is refused.
	Digest  []byte `cbor:"2,keyasint"`
	Profile string `cbor:"3,keyasint"`
	// Program is the absolute host path Argv[0] resolved to; empty with
	// ProgramError set when it resolves to nothing.
	Program      string `cbor:"4,keyasint"`
	ProgramError string `cbor:"5,keyasint"`
	HostDir      string `cbor:"6,keyasint"` // where it would run
	HostUser     string `cbor:"7,keyasint"` // as whom it would run
	ReceivedUnix int64  `cbor:"8,keyasint"`
	ExpiresUnix  int64  `cbor:"9,keyasint"`
	// Warnings are sentences of ours the card must show, for example that the
	// command runs code the sandbox can write.
	Warnings []string `cbor:"10,keyasint"`
	// Files are files the sandbox can write that the command runs or reads as
	// code, as they were when shown. A change before the start refuses the run.
	Files []File `cbor:"11,keyasint"`
}

// File is one file the decision is bound to.
type File struct {
	Path   string `cbor:"1,keyasint"` // on the host
	SHA256 []byte `cbor:"2,keyasint"`
	Size   int64  `cbor:"3,keyasint"`
	// Copied says a host-only copy of these bytes is what runs; otherwise the
	// bytes are compared again just before the start.
	Copied bool `cbor:"4,keyasint"`
}

// Verdict is the developer's answer.
type Verdict uint8

// The verdicts.
const (
	VerdictApprove Verdict = 1
	VerdictDeny    Verdict = 2
	// VerdictAbort denies and closes the requesting session.
	VerdictAbort Verdict = 3
)

// Decision is an answer bound to one request, one digest and one session.
type Decision struct {
	Request domain.RequestID `cbor:"1,keyasint"`
	Session domain.SessionID `cbor:"2,keyasint"`
	Digest  []byte           `cbor:"3,keyasint"`
	Verdict Verdict          `cbor:"4,keyasint"`
	// Argv, when not empty, is what the developer edited the vector to; it is
	// what runs, and the sandbox is told.
	Argv   []string `cbor:"5,keyasint"`
	Reason string   `cbor:"6,keyasint"` // of a denial
}

// SignedDecision is a canonical Decision and the Session Anchor's signature over
// it in the context "lazaret/v1/decision".
type SignedDecision struct {
	Payload   []byte `cbor:"1,keyasint"`
	Signature []byte `cbor:"2,keyasint"`
}

// Outcome is how a request ended.
type Outcome uint8

// The outcomes. Numbers travel to the sandbox.
const (
	OutcomeRan       Outcome = 1
	OutcomeDenied    Outcome = 2
	OutcomeExpired   Outcome = 3
	OutcomeCancelled Outcome = 4 // withdrawn by the asker, or its session ended
	OutcomeFailed    Outcome = 5 // approved, but the program could not be started
	OutcomeRefused   Outcome = 6 // never shown: malformed, over a limit, or escalation is off
	OutcomeRunning   Outcome = 7 // approved and running; not final
)
