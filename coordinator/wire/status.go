package wire

import "lazaret.dev/lazaret/internal/domain"

// Status is what a Domain is doing. It is sent whenever it changes, and as the
// answer to Query. It is for display: nothing is decided from it.
type Status struct {
	Domain      domain.ID         `cbor:"1,keyasint"`
	Generation  domain.Generation `cbor:"2,keyasint"`
	Profile     string            `cbor:"3,keyasint"`
	Workspace   string            `cbor:"4,keyasint"`
	Mode        string            `cbor:"5,keyasint"`
	StartedUnix int64             `cbor:"6,keyasint"`
	Sessions    []SessionStatus   `cbor:"7,keyasint"`
	Pending     uint32            `cbor:"8,keyasint"`

	NetworkUp     bool     `cbor:"9,keyasint"`
	NetworkReason string   `cbor:"10,keyasint"`
	Policy        []string `cbor:"11,keyasint"` // one readable rule a line
	Limits        []string `cbor:"12,keyasint"` // what is in force, and what is not
	Lower         string   `cbor:"13,keyasint"` // prepared-artifact id
	Log           string   `cbor:"14,keyasint"` // path of the coordinator's log
	Anchors       []string `cbor:"15,keyasint"` // persistent guest paths
	CoordinatorID int      `cbor:"16,keyasint"` // host pid of the coordinator, for display
}

// SessionStatus is one session of a Domain.
type SessionStatus struct {
	Session     domain.SessionID `cbor:"1,keyasint"`
	Name        string           `cbor:"2,keyasint"`
	Argv        []string         `cbor:"3,keyasint"`
	TTY         bool             `cbor:"4,keyasint"`
	StartedUnix int64            `cbor:"5,keyasint"`
	Pending     uint32           `cbor:"6,keyasint"`
}
