package supervisor

import (
	"errors"
	"fmt"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/packet"
)

// The conversation of HC and RS. Each message is one packet; descriptors travel
// with it as SCM_RIGHTS.
//
//	HC                                        RS
//	│ launch      [spec memfd, trees…]  ────►  │ builds its root, mounts
//	│                           ◄────  mailbox │ [requests, results]; not in root mode
//	│ networkUp                         ────►  │ installs the policy, starts runsc,
//	│                           ◄────  running │ has given up network administration
//	│ (guest init reports ready on its pipe)   │
//	│ inventory                         ────►  │ asserts the sandbox's flags
//	│                      ◄────  inventoried  │ [pidfds]
//	│ exec N      [process memfd, stdio…]  ──► │
//	│                           ◄────  exited N│ once per exec
//	│                         ◄────  changed P │ any number of times
//	│ stop                              ────►  │ kills, unmounts, counts
//	│                           ◄────  stopped │ and exits
//
// failed and ended may come at any time and are RS's last words.
type kind uint8

// The numbers are fixed: HC and RS may be two builds for the time of an upgrade.
const (
	kindLaunch      kind = 1
	kindNetworkUp   kind = 2
	kindInventory   kind = 3
	kindExec        kind = 4
	kindStop        kind = 5
	kindStep        kind = 32 // Text names the step RS begins
	kindMailbox     kind = 33
	kindRunning     kind = 34
	kindInventoried kind = 35 // Names are the roles of the processes behind the descriptors
	kindExited      kind = 36 // exec ID ended with status Code; Text says why Lazaret itself failed; Counts, if any, that the command may go on
	kindStopped     kind = 37 // Counts are processes and mounts left
	kindFailed      kind = 38 // the launch cannot go on; Text, Fix and Code (a fault.Kind) say why
	kindEnded       kind = 39 // the sandbox has ended; Text says how
	kindChanged     kind = 40 // the host changed the path Text of the workspace
)

// message is every message; what a kind does not use is zero.
type message struct {
	Kind   kind     `cbor:"1,keyasint"`
	ID     uint64   `cbor:"2,keyasint"`
	Code   int32    `cbor:"3,keyasint"`
	Text   string   `cbor:"4,keyasint"`
	Fix    string   `cbor:"5,keyasint"`
	Names  []string `cbor:"6,keyasint"`
	Counts []uint32 `cbor:"7,keyasint"`
}

const (
	maxDescriptors = packet.MaxDescriptors
	maxSpec        = 32 << 20 // bytes of one encoded Spec
)

// failure is the message for an error that ends a launch.
func failure(err error) message {
	m := message{Kind: kindFailed, Text: clip(err.Error()), Fix: clip(fault.FixOf(err))}
	var f *fault.Error
	if errors.As(err, &f) {
		m.Code = int32(f.Kind)
	}
	return m
}

// err is the inverse of failure.
func (m message) err() error {
	if m.Code == 0 {
		return errors.New(m.Text)
	}
	return &fault.Error{Kind: fault.Kind(m.Code), Message: m.Text, Fix: m.Fix}
}

func clip(s string) string {
	const limit = 8 << 10
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:limit], len(s)-limit)
}
