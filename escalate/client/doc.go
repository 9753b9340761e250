// Package client is lazaret-escalate: the program inside the sandbox that asks
// the host to run something, streams the answer, and exits with its status.
//
// It trusts the mailbox for nothing: every result is verified with the
// coordinator's key from the credential directory before it is read. It is part
// of a small static binary, so it imports only the standard library without its
// network parts, x/sys, and the wire packages; never runtime, policy or desk.
package client
