// Package wire is the control protocol between a client and a Host Coordinator:
// frames, messages, versions and error codes. It is data only; it opens nothing.
//
// A frame is a four-byte big-endian length followed by that many bytes: one kind
// byte and the message in canonical CBOR. Every number here leaves the process,
// so each is explicit and never reused.
package wire
