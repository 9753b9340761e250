package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/gvisor"
)

// maxProcess bounds an encoded OCI process, in bytes: arguments and environment.
const maxProcess = 8 << 20

// exec runs one session's command to its end and reports it. files are the OCI
// process description and the terminal, or the three streams.
func (s *supervisor) exec(id uint64, files []*os.File) {
	defer func() { closeAll(files) }()
	reply := message{Kind: kindExited, ID: id, Code: statusLost}
	p, stdio, err := command(files)
	var l *leader
	if err == nil && len(files) == 2 {
		l, err = startLeader(stdio[0])
		defer l.end()
	}
	var pid int32
	if err == nil {
		pid, err = s.control.Execute(context.Background(), p, stdio)
	}
	switch {
	case err == nil:
		s.warmed.Do(func() { go s.workspace.warm() }) // not before: the start comes first
		// The sentry has the streams. What reads their other ends waits for them to be
		// closed here too.
		closeAll(files)
		files = nil
		if reply, err = s.await(id, pid, l); err != nil {
			s.abandon(err)
			return
		}
	case broken(err):
		s.abandon(err)
		return
	default:
		if len(files) > 1 { // the session's own stream, where someone is looking
			fmt.Fprintf(files[len(files)-1], "lazaret: cannot run the command: %v\n", err)
		}
		reply.Text = clip(err.Error())
		closeAll(files)
		files = nil
	}
	l.end()
	_ = s.channel.send(reply) // HC may be gone; then so is this process in a moment
}

// command takes apart what came with a request to run one.
func command(files []*os.File) (p *specs.Process, stdio [3]*os.File, err error) {
	switch len(files) {
	case 2:
		stdio = [3]*os.File{files[1], files[1], files[1]}
	case 4:
		stdio = [3]*os.File(files[1:])
	default:
		return nil, stdio, fmt.Errorf("exec with %d descriptors, want 2 or 4", len(files))
	}
	description, err := unseal(files[0], maxProcess)
	if err != nil {
		return nil, stdio, err
	}
	p = &specs.Process{}
	if err := json.Unmarshal(description, p); err != nil {
		return nil, stdio, fmt.Errorf("read the process description: %w", err)
	}
	if p.Terminal != (len(files) == 2) {
		return nil, stdio, errors.New("read the process description: it is not for these streams")
	}
	return p, stdio, nil
}

// await waits for the end of a command that runs, or of its leader, which is nil
// without a terminal. An error says that the sentry cannot be trusted to tell.
func (s *supervisor) await(id uint64, pid int32, l *leader) (message, error) {
	reply := message{Kind: kindExited, ID: id, Code: statusLost}
	type end struct {
		status unix.WaitStatus
		err    error
	}
	ended := make(chan end, 1) // one element, so that the waiting ends when nobody looks
	go func() {
		status, err := s.control.Wait(context.Background(), pid)
		ended <- end{status, err}
	}()
	var e end
	if l == nil {
		e = <-ended
	} else {
		go l.forward(func(ctx context.Context, sig unix.Signal) {
			_ = s.control.SignalForeground(ctx, pid, sig) // of no use to a command that has just ended
		})
		select {
		case e = <-ended:
		case <-l.process.Done():
			reply.Code = int32(l.process.Exit().Status())
			reply.Counts = []uint32{uint32(l.process.Exit().Signal)}
			return reply, nil
		}
	}
	switch {
	case e.err == nil && e.status.Signaled():
		reply.Code = 128 + int32(e.status.Signal())
	case e.err == nil:
		reply.Code = int32(e.status.ExitStatus())
	case broken(e.err):
		return reply, e.err
	default: // the host lacks something
		reply.Text, reply.Counts = clip(e.err.Error()), []uint32{0}
	}
	return reply, nil
}

// broken says whether err means that the sentry is gone or is no sentry of ours.
func broken(err error) bool {
	return errors.Is(err, gvisor.ErrHungUp) || errors.Is(err, gvisor.ErrMalformed)
}

// abandon makes sure that the sandbox of a sentry that broke off ends. Its sessions
// need no report then: with the sandbox they are lost.
func (s *supervisor) abandon(err error) {
	if errors.Is(err, gvisor.ErrHungUp) {
		select { // a rule: it is dead, and watch and watchMember say how
		case <-s.sandbox.Done():
			return
		case <-time.After(sentryTime):
		}
	}
	s.mu.Lock()
	if s.reason == "" {
		s.reason = clip(err.Error())
	}
	s.mu.Unlock()
	_ = s.sandbox.Signal(unix.SIGKILL)
}

// sentryTime is how long a sentry that hung up on its clients may take to be dead.
const sentryTime = 2 * time.Second
