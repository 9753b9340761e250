package wire

// Refused ends a connection, or an attempt, with the reason and the fix.
type Refused struct {
	Code    Code   `cbor:"1,keyasint"`
	Message string `cbor:"2,keyasint"`
	Fix     string `cbor:"3,keyasint"`
}

// Error makes a refusal an error value on the client's side.
func (r *Refused) Error() string { return r.Message }

// Code is the closed list of refusals.
type Code uint16

// The refusals. A number is never reused.
const (
	CodeProtocol     Code = 1 // malformed or unexpected message
	CodeVersion      Code = 2 // the other end speaks another version
	CodeWrongDomain  Code = 3 // the coordinator serves another Domain
	CodeFingerprint  Code = 4 // the running Domain was started with another configuration
	CodeStopping     Code = 5 // the Domain is being torn down; try again
	CodeTooMany      Code = 6 // session limit reached
	CodeExec         Code = 7 // the command could not be started
	CodeLaunch       Code = 8 // the sandbox could not be started
	CodeNotPending   Code = 9 // decision about a request that does not wait
	CodeBadDecision  Code = 10
	CodePeer         Code = 11 // peer is another user
	CodeSandboxEnded Code = 12
)
