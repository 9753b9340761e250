package plan

import (
	"path/filepath"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// Plan is everything a Host Coordinator is started with. It goes to it as one
// canonical record and holds no key; forwarded host variables are in it, so it is
// never written to a disk.
type Plan struct {
	Domain    domain.ID `cbor:"1,keyasint"`
	Digest    []byte    `cbor:"2,keyasint"` // the full identity, compared before reuse
	Profile   string    `cbor:"3,keyasint"`
	Workspace string    `cbor:"4,keyasint"`

	// Fingerprint is SHA-256 over the canonical Facts.
	Fingerprint []byte      `cbor:"5,keyasint"`
	Facts       []wire.Fact `cbor:"6,keyasint"`

	// Spec is complete but for Generation, Dir and Secrets, which are each
	// generation's own.
	Spec runtime.Spec `cbor:"7,keyasint"`
	// Command is what a session runs that names none.
	Command []string `cbor:"8,keyasint"`

	DataRoot   string `cbor:"9,keyasint"`  // the Storage Root
	RuntimeDir string `cbor:"10,keyasint"` // where sockets are, 0700
	LowerID    string `cbor:"11,keyasint"` // prepared-artifact id

	Install    string   `cbor:"12,keyasint"` // run once into the State Anchor
	Credential string   `cbor:"13,keyasint"` // guest path carried between Domains
	Escalation bool     `cbor:"14,keyasint"`
	Expire     uint32   `cbor:"15,keyasint"` // seconds a request waits
	Policy     []string `cbor:"16,keyasint"` // the network policy, one readable rule a line
	Rules      []Rule   `cbor:"17,keyasint"` // vectors that need no question
}

// Rule is one auto-approved argument vector.
type Rule struct {
	Argv      []string `cbor:"1,keyasint"`
	ExtraArgs bool     `cbor:"2,keyasint"`
}

// maxPlan bounds an encoded plan; certificates are the bulk of it.
const maxPlan = 16 << 20

// Encode returns the canonical record of p.
func (p Plan) Encode() ([]byte, error) { return canon.Marshal(p) }

// Decode reads a record Encode made.
func Decode(record []byte) (Plan, error) {
	var p Plan
	err := canon.Unmarshal(record, maxPlan, &p)
	return p, err
}

// DomainRoot is the Domain's own directory in the Storage Root.
func DomainRoot(dataRoot string, id domain.ID) string {
	return filepath.Join(dataRoot, "domains", string(id))
}

// Root is the plan's Domain Root.
func (p Plan) Root() string { return DomainRoot(p.DataRoot, p.Domain) }
