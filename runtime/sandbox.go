package runtime

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
)

// Launcher brings generations up. The real one is runtime/supervisor.
type Launcher interface {
	// Launch acquires everything spec names, in order, and returns when the
	// guest init has reported ready. progress is called with the name of each
	// step as it begins. On error nothing of the generation is left.
	Launch(ctx context.Context, spec Spec, progress func(step string)) (Sandbox, error)
}

// Sandbox is one live Domain generation. Its methods may overlap.
type Sandbox interface {
	// Exec starts one command in the sandbox as a session of its own. The files
	// of spec stay the caller's to close.
	Exec(ctx context.Context, spec ExecSpec) (Process, error)
	// Mailbox returns the Escalation Mailbox's two directories on the host:
	// requests is written by the guest, results is read-only there. The
	// descriptors belong to the Sandbox.
	Mailbox() (requests, results *os.File)
	// Poke makes watchers of the guest path look again: gVisor sends guests no
	// events for changes made on the host.
	Poke(guestPath string) error
	// ReadFile returns the content of a regular file inside, at most limit bytes
	// long; the bytes are the guest's and hostile. WriteFile replaces or creates
	// one (with its parent directories) by rename, as guest root.
	ReadFile(ctx context.Context, guestPath string, limit int) ([]byte, error)
	WriteFile(ctx context.Context, guestPath string, mode uint32, data []byte) error
	// Status reports what is in force. It does not block.
	Status() Status
	// Done is closed when the sandbox has ended for any reason; Err then says why.
	Done() <-chan struct{}
	Err() error
	// Stop ends the generation and returns once every process and mount of it is
	// gone, with the evidence. It may be called again.
	Stop(ctx context.Context) (Proof, error)
}

// ExecSpec is one command to run inside.
type ExecSpec struct {
	Session domain.SessionID
	Argv    []string // Argv[0] is looked up in the guest's PATH
	Env     []string // added to the sandbox's environment, "NAME=value"
	Dir     string   // guest directory
	// TTY is the slave side of the session's pseudo-terminal; nil for a session
	// on three pipes, which are then all set.
	TTY                   *os.File
	Stdin, Stdout, Stderr *os.File
}

// Process is one running session command.
type Process interface {
	// Done is closed when the command has ended and its status is known.
	Done() <-chan struct{}
	// Exit returns the command's status once Done is closed.
	Exit() ExitStatus
	// Signal sends sig to the session's foreground guest process group.
	Signal(ctx context.Context, sig unix.Signal) error
	// End kills every process of the session, daemons included, and returns how
	// many there were. It is the last rung of the close ladder.
	End(ctx context.Context) (killed int, err error)
}

// ExitStatus is how a command ended: a code, 128+n for signal n as a shell
// reports it, or Lost when the sandbox ended under it.
type ExitStatus struct {
	Code int
	Lost bool
}

// Status is what is in force for a live generation.
type Status struct {
	Mode          Mode
	SandboxPID    int    // host pid of the sentry, for display only
	NetworkUp     bool   // the connectivity helper lives
	NetworkReason string // why not, when NetworkUp is false
	Steps         []Step // how long each launch step took, in order
	// LimitsInForce says per limit what enforces it, or that nothing does.
	LimitsInForce []string
}

// Step is one launch step and how long it took.
type Step struct {
	Name   string
	Micros int64
}

// Proof is what Stop observed after the end: all three are zero when clean.
type Proof struct {
	Processes, Mounts, Files int
	Detail                   []string
}
