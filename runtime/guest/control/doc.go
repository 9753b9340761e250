// Package control is the conversation between the host and the guest init: its
// records, its limits, and the host's side of it.
//
// It owns the channel on PID 1's standard input and output. It promises that
// nothing the guest sends can make the host allocate beyond MaxFile, block a
// caller past its context, or be taken for an answer nobody asked for: the first
// unasked, oversized or malformed frame ends the channel for good.
//
// The guest side links it too, so it imports only internal/canon, internal/domain
// and golang.org/x/sys.
package control
