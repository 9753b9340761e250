package client

import "lazaret.dev/lazaret/coordinator/wire"

// Event is something the coordinator told a session: one of the types below.
// Exit or Lost is the last event of a session, and exactly one of them comes.
type Event any

// The events. All but Lost are the messages themselves.
//
//nolint:revive // aliases, documented where they are defined
type (
	Started  = wire.Started
	Output   = wire.Output
	Pending  = wire.Pending
	Resolved = wire.Resolved
	Status   = wire.Status
	Notice   = wire.Notice
	Exit     = wire.Exit
)

// Lost ends a session whose connection ended without an Exit. Err is a
// *wire.Refused when the coordinator said why.
type Lost struct{ Err error }
