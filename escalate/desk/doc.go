// Package desk is the Host Coordinator's owner of pending requests: it takes them
// from the mailbox, has them judged, shows each to the session that asked, accepts
// one signed decision about it, runs what was approved, and delivers the result.
//
// It promises that a request ends exactly once, that no decision is used twice,
// that what waits or runs ends with its session, and that nothing the sandbox
// writes makes it allocate without bound or keeps the next request from it. It
// knows no terminal and no connection: sessions are Sinks.
package desk
