// Package seal signs and verifies records: Ed25519 over a message that names the
// record first, so that a signature over one kind of record is never one over
// another (S2 §3.7).
//
// A message is the ASCII text "lazaret/v1/<record-name>", a zero byte, the
// payload's length as eight big-endian bytes, and the payload. A sealed record is
// the 64-byte signature followed by the payload, so that the signature is checked
// over bytes nobody has parsed yet.
//
// Each role has a key type of its own and each record belongs to one role: what
// signs a request cannot sign a result. The package holds no state, and must stay
// small, because the client inside the sandbox is built from it.
package seal
