package wire

import (
	"strconv"
	"strings"

	"lazaret.dev/lazaret/internal/domain"
)

// Kind is what a file of the requests directory is for.
type Kind uint8

// The kinds. KindTemporary is a file being written; it is never read.
const (
	KindRequest   Kind = 1
	KindCancel    Kind = 2
	KindAck       Kind = 3
	KindTemporary Kind = 4
)

// Names of a request's files. Inside, requests and results lie under GuestDir.
const (
	GuestDir      = "/run/lazaret"
	GuestRequests = GuestDir + "/requests"
	GuestResults  = GuestDir + "/results"

	// The files of GuestDir/credential.
	CredentialDir       = "credential"
	SandboxKeyFile      = "sandbox.key"
	CoordinatorFile     = "coordinator.pub"
	ManifestFile        = "manifest"
	SessionVariable     = "LAZARET_SESSION"
	CapabilityVariable  = "LAZARET_CAPABILITY"
	temporarySuffix     = "tmp"
	requestSuffix       = "request"
	cancelSuffix        = "cancel"
	ackSuffix           = "ack"
	maxSequenceDigits   = 10
	sequenceNumeralBase = 10
)

// RequestName names the file that asks.
func RequestName(id domain.RequestID) string { return string(id) + "." + requestSuffix }

// CancelName names the file that withdraws.
func CancelName(id domain.RequestID) string { return string(id) + "." + cancelSuffix }

// AckName names the file that acknowledges. Each acknowledgement has a name of
// its own, so that removing one can never remove the next.
func AckName(id domain.RequestID, sequence uint32, final bool) string {
	if final {
		return string(id) + ".final." + ackSuffix
	}
	return string(id) + "." + numeral(sequence) + "." + ackSuffix
}

// TemporaryName names a file that is being written.
func TemporaryName(id domain.RequestID) string { return string(id) + "." + temporarySuffix }

// ProgressName names the file that says the command runs.
func ProgressName(id domain.RequestID) string { return string(id) + ".progress" }

// ChunkName names a piece of output.
func ChunkName(id domain.RequestID, sequence uint32) string {
	return string(id) + "." + numeral(sequence) + ".chunk"
}

// ResultName names the file that says how the request ended.
func ResultName(id domain.RequestID) string { return string(id) + ".result" }

func numeral(n uint32) string { return strconv.FormatUint(uint64(n), sequenceNumeralBase) }

// ParseRequestName reads a name found in the requests directory. The name is the
// guest's; ok is false for everything that is not exactly one of ours.
func ParseRequestName(name string) (id domain.RequestID, kind Kind, ok bool) {
	head, rest, found := strings.Cut(name, ".")
	if !found {
		return "", 0, false
	}
	id, err := domain.ParseRequestID(head)
	if err != nil {
		return "", 0, false
	}
	switch rest {
	case requestSuffix:
		return id, KindRequest, true
	case cancelSuffix:
		return id, KindCancel, true
	case temporarySuffix:
		return id, KindTemporary, true
	case "final." + ackSuffix:
		return id, KindAck, true
	}
	digits, suffix, _ := strings.Cut(rest, ".")
	return id, KindAck, suffix == ackSuffix && isNumeral(digits)
}

func isNumeral(s string) bool {
	if s == "" || len(s) > maxSequenceDigits {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
