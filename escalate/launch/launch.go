package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/policy"
	"lazaret.dev/lazaret/internal/proc"
)

// killGrace is how long a group has between TERM and KILL.
const killGrace = 2 * time.Second

// pidfdGroup is PIDFD_SIGNAL_PROCESS_GROUP (Linux 6.9): the signal goes to the
// process group the pidfd's process leads.
const pidfdGroup = 1 << 2

// Run is one approved program.
type Run struct {
	// Stdout and Stderr are the read ends of its pipes. The caller reads both to
	// their end, or closes them.
	Stdout, Stderr *os.File

	process *proc.Process
}

// Start starts argv in bound with environ, without the variables Lazaret uses for
// itself. dir is the name of bound.Dir, for PWD. The files of bound stay the
// caller's.
func Start(bound *policy.Bound, argv []string, dir string, environ []string) (*Run, error) {
	stdout, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make output pipe: %w", err)
	}
	defer stdoutW.Close()
	stderr, stderrW, err := os.Pipe()
	if err != nil {
		stdout.Close()
		return nil, fmt.Errorf("make error pipe: %w", err)
	}
	defer stderrW.Close()
	files := []*os.File{nil, stdoutW, stderrW}
	if bound.Program != nil {
		files = append(files, bound.Program) // descriptor policy.ProgramDescriptor
	}
	p, err := proc.Start(proc.Spec{
		Path: bound.Path,
		Args: argv,
		Env:  environment(environ, dir),
		// The child changes directory before it executes, with our descriptors
		// still open: no name is looked up again.
		Dir:    "/proc/self/fd/" + strconv.Itoa(int(bound.Dir.Fd())),
		Files:  files,
		Setsid: true, // its own group, and no terminal to reach
	})
	if err != nil {
		stdout.Close()
		stderr.Close()
		return nil, err
	}
	return &Run{Stdout: stdout, Stderr: stderr, process: p}, nil
}

func environment(environ []string, dir string) []string {
	out := make([]string, 0, len(environ)+1)
	for _, e := range environ {
		if !strings.HasPrefix(e, "LAZARET_") && !strings.HasPrefix(e, "PWD=") && !strings.HasPrefix(e, "OLDPWD=") {
			out = append(out, e)
		}
	}
	return append(out, "PWD="+dir)
}

// Done is closed when the program has ended and been reaped.
func (r *Run) Done() <-chan struct{} { return r.process.Done() }

// Exit is how it ended, once Done is closed.
func (r *Run) Exit() proc.Exit { return r.process.Exit() }

// Kill ends the program's whole group, TERM and then KILL, and returns when the
// program has been reaped. Processes that left the group are not followed.
func (r *Run) Kill() {
	r.signal(unix.SIGTERM)
	t := time.NewTimer(killGrace)
	defer t.Stop()
	select {
	case <-r.Done():
	case <-t.C:
	}
	// What is left of the group goes too, also when its leader is gone already.
	r.signal(unix.SIGKILL)
	<-r.Done()
}

func (r *Run) signal(sig unix.Signal) {
	err := unix.PidfdSendSignal(int(r.process.Pidfd().Fd()), sig, nil, pidfdGroup)
	if !errors.Is(err, unix.EINVAL) {
		return // sent, or nobody is left
	}
	// An older kernel knows groups by number only. The number is the leader's, so
	// it is used only while the leader is ours to reap.
	select {
	case <-r.Done():
	default:
		_ = unix.Kill(-r.process.PID(), sig)
	}
}
