package fake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
)

// Launcher launches fake sandboxes. Set its fields before the first Launch.
type Launcher struct {
	// Programs are the commands of the sandbox by name; Builtin when nil.
	Programs map[string]Program
	// Fail, when set, is what Launch returns.
	Fail error
	// Steps are reported as progress.
	Steps []string
	// MailboxDir holds the mailbox; without it Mailbox returns nil files.
	MailboxDir string
	// Proof is what Stop returns.
	Proof runtime.Proof

	mu       sync.Mutex
	launched []*Sandbox
}

// Launch implements runtime.Launcher.
func (l *Launcher) Launch(ctx context.Context, spec runtime.Spec, progress func(string)) (runtime.Sandbox, error) {
	for _, step := range l.Steps {
		progress(step)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.Fail != nil {
		return nil, l.Fail
	}
	s := &Sandbox{
		Spec: spec, programs: l.Programs, proof: l.Proof,
		changed: make(chan struct{}, 1), done: make(chan struct{}), stopped: make(chan struct{}), files: map[string][]byte{},
	}
	if s.programs == nil {
		s.programs = Builtin
	}
	if l.MailboxDir != "" {
		if err := s.openMailbox(l.MailboxDir); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.launched = append(l.launched, s)
	return s, nil
}

// Launched returns every sandbox launched so far.
func (l *Launcher) Launched() []*Sandbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Sandbox(nil), l.launched...)
}

// Sandbox is one fake generation.
type Sandbox struct {
	Spec runtime.Spec

	programs          map[string]Program
	proof             runtime.Proof
	requests, results *os.File

	mu      sync.Mutex
	files   map[string][]byte
	procs   []*Process
	pokes   []string
	network string // why it is down; empty: up
	err     error
	stops   int
	deaf    bool

	changed chan struct{}
	endOnce sync.Once
	done    chan struct{}
	stopped chan struct{} // closed by the first Stop
}

func (s *Sandbox) openMailbox(dir string) (err error) {
	for _, sub := range []struct {
		name string
		file **os.File
	}{{"requests", &s.requests}, {"results", &s.results}} {
		p := path.Join(dir, sub.name)
		if err := os.MkdirAll(p, 0o700); err != nil {
			return err
		}
		if *sub.file, err = os.Open(p); err != nil {
			return err
		}
	}
	return nil
}

// Exec implements runtime.Sandbox.
func (s *Sandbox) Exec(ctx context.Context, spec runtime.ExecSpec) (runtime.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if len(spec.Argv) == 0 {
		return nil, errors.New("no command")
	}
	program, ok := s.programs[spec.Argv[0]]
	if !ok {
		return nil, fmt.Errorf("%q is not a command of the sandbox", spec.Argv[0])
	}
	p, err := start(spec, program, s.hears)
	if err != nil {
		return nil, err
	}
	s.procs = append(s.procs, p)
	return p, nil
}

// Deafen makes the sandbox answer nothing any more, as one that is about to be
// found dead.
func (s *Sandbox) Deafen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = true
}

// hears is nil while the sandbox answers.
func (s *Sandbox) hears() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return errors.New("the guest does not answer")
	}
	return nil
}

// Processes returns every process started so far.
func (s *Sandbox) Processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Process(nil), s.procs...)
}

// Mailbox implements runtime.Sandbox.
func (s *Sandbox) Mailbox() (requests, results *os.File) { return s.requests, s.results }

// Poke implements runtime.Sandbox.
func (s *Sandbox) Poke(guestPath string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pokes = append(s.pokes, guestPath)
	return nil
}

// Pokes returns the paths poked so far.
func (s *Sandbox) Pokes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.pokes...)
}

// ReadFile implements runtime.Sandbox.
func (s *Sandbox) ReadFile(_ context.Context, guestPath string, limit int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[guestPath]
	if !ok {
		return nil, &os.PathError{Op: "read", Path: guestPath, Err: os.ErrNotExist}
	}
	if len(data) > limit {
		return nil, fmt.Errorf("read %q: longer than %d bytes", guestPath, limit)
	}
	return append([]byte(nil), data...), nil
}

// WriteFile implements runtime.Sandbox.
func (s *Sandbox) WriteFile(_ context.Context, guestPath string, _ uint32, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[guestPath] = append([]byte(nil), data...)
	return nil
}

// SetNetwork says why the network is down; empty brings it up.
func (s *Sandbox) SetNetwork(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network = reason
	select {
	case s.changed <- struct{}{}:
	default: // told already
	}
}

// Changed is signalled when Status changed.
func (s *Sandbox) Changed() <-chan struct{} { return s.changed }

// Status implements runtime.Sandbox.
func (s *Sandbox) Status() runtime.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return runtime.Status{
		Mode:      s.Spec.IDs.Mode,
		NetworkUp: s.network == "", NetworkReason: s.network,
		LimitsInForce: []string{"none: the runtime is a fake"},
	}
}

// Done implements runtime.Sandbox.
func (s *Sandbox) Done() <-chan struct{} { return s.done }

// Err implements runtime.Sandbox.
func (s *Sandbox) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Die ends the sandbox as if it had been killed: its processes are lost.
func (s *Sandbox) Die(err error) { s.end(err) }

// Stop implements runtime.Sandbox.
func (s *Sandbox) Stop(context.Context) (runtime.Proof, error) {
	s.end(errors.New("sandbox was stopped"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stops++; s.stops == 1 {
		close(s.stopped)
		if s.requests != nil {
			s.requests.Close()
			s.results.Close()
		}
	}
	return s.proof, nil
}

// Stopped is closed once Stop was called.
func (s *Sandbox) Stopped() <-chan struct{} { return s.stopped }

// Stops counts the calls of Stop.
func (s *Sandbox) Stops() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stops
}

func (s *Sandbox) end(err error) {
	s.endOnce.Do(func() {
		s.mu.Lock()
		s.err = err
		procs := s.procs
		s.mu.Unlock()
		for _, p := range procs {
			p.finish(runtime.ExitStatus{Code: 128 + int(unix.SIGKILL), Lost: true})
		}
		close(s.done)
	})
}
