package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/bundle"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// sandbox is one live generation, on HC's side.
type sandbox struct {
	spec   runtime.Spec
	boot   *boot // what the launch acquired; its undo stack is not used any more
	status runtime.Status

	done    chan struct{} // closed by finish
	stopped chan message  // RS's last message to Stop; one element
	read    chan struct{} // closed when the reader of the channel has ended
	pokes   chan string   // guest paths the host changed

	stopOnce sync.Once
	proof    runtime.Proof

	mu       sync.Mutex // protects what follows
	err      error
	next     uint64
	commands map[uint64]*process
	network  string // why the network is down, "" while it is up
}

func newSandbox(b *boot) *sandbox {
	s := &sandbox{
		spec: b.spec, boot: b, done: make(chan struct{}), stopped: make(chan message, 1),
		read: make(chan struct{}), pokes: make(chan string, maxPokes), commands: map[uint64]*process{},
	}
	s.status = runtime.Status{Mode: b.spec.IDs.Mode, Steps: b.steps, LimitsInForce: limits(b.spec.Limits, b.limited)}
	for _, m := range b.members {
		if m.role == "sentry" {
			s.status.SandboxPID = m.pid()
		}
	}
	if !b.spec.Network.Enabled {
		s.network = "off by configuration"
	}
	b.undo = nil
	go s.listen()
	go s.pokeChanged(s.Poke)
	if b.slirp != nil {
		go s.watchNetwork()
	}
	return s
}

// limits says of each limit what enforces it.
func limits(l runtime.Limits, cgroups bool) []string {
	var list []string
	if l.Processes > 0 {
		how := "per session and user, by RLIMIT_NPROC: the guest has no cgroup"
		if cgroups {
			how = "per session, by a pids cgroup of the guest"
		}
		list = append(list, fmt.Sprintf("processes: %d, %s", l.Processes, how))
	}
	if l.OpenFiles > 0 {
		list = append(list, fmt.Sprintf("open files: %d per process, by RLIMIT_NOFILE", l.OpenFiles))
	}
	if l.TmpBytes > 0 {
		list = append(list, fmt.Sprintf("temporary files: %d bytes in each of /tmp, /run, /dev/shm and the root, by the file system", l.TmpBytes))
	}
	if l.MemoryBytes > 0 {
		list = append(list, "memory: not enforced, this host gives the sandbox no cgroup of its own")
	}
	return list
}

// listen takes RS's messages until it is gone.
func (s *sandbox) listen() {
	defer close(s.read)
	reason := errors.New("the supervisor ended unexpectedly")
	for {
		m, files, err := s.boot.channel.receive()
		closeAll(files)
		if err != nil {
			break
		}
		switch m.Kind {
		case kindExited:
			s.exited(m)
		case kindChanged:
			s.changed(m)
		case kindEnded, kindFailed:
			reason = errors.New(m.Text)
		case kindStopped:
			s.stopped <- m // RS sends it once and ends
		}
	}
	if text := s.boot.errors.text(); text != "" {
		reason = fmt.Errorf("%w (%s)", reason, text)
	}
	s.finish(reason)
}

// finish records the end; every command still running is lost.
func (s *sandbox) finish(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return
	default:
	}
	s.err = reason
	for id, p := range s.commands {
		p.end(runtime.ExitStatus{Code: statusLost, Lost: true})
		delete(s.commands, id)
	}
	close(s.done)
}

func (s *sandbox) exited(m message) {
	s.mu.Lock()
	p := s.commands[m.ID]
	delete(s.commands, m.ID)
	s.mu.Unlock()
	if p == nil {
		return
	}
	if len(m.Counts) > 0 {
		// Nobody on the host answers for the command any more, which the guest does
		// not notice: it would go on.
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), endTime)
			defer cancel()
			_, _ = p.End(ctx) // fails only with the sandbox
		}()
	}
	p.end(runtime.ExitStatus{Code: int(m.Code)})
}

// endTime bounds how long a session without a leader may take to be ended.
const endTime = 10 * time.Second

func (s *sandbox) watchNetwork() {
	select {
	case <-s.boot.slirp.process.Done():
	case <-s.done:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network = "slirp4netns ended with " + s.boot.slirp.process.Exit().String()
	if text := s.boot.slirp.errors.text(); text != "" {
		s.network += ": " + text
	}
}

// Exec implements runtime.Sandbox.
func (s *sandbox) Exec(ctx context.Context, spec runtime.ExecSpec) (runtime.Process, error) {
	if len(spec.Argv) == 0 {
		return nil, errors.New("run a command: it has no words")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run %q: %w", spec.Argv[0], err)
	}
	stdio := []*os.File{spec.TTY}
	if spec.TTY == nil {
		stdio = []*os.File{spec.Stdin, spec.Stdout, spec.Stderr}
	}
	for _, f := range stdio {
		if f == nil {
			return nil, fmt.Errorf("run %q: want a terminal or three streams", spec.Argv[0])
		}
	}
	wrapper := control.Session{
		ID: spec.Session, UID: s.spec.User.UID, GID: s.spec.User.GID, Dir: spec.Dir,
		Processes: s.spec.Limits.Processes, OpenFiles: s.spec.Limits.OpenFiles, Command: spec.Argv,
	}
	description, err := json.Marshal(bundle.Process(s.spec, wrapper.Argv(), spec.Env, "/", spec.TTY != nil))
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", spec.Argv[0], err)
	}
	file, err := sealed("lazaret-process", description)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{sandbox: s, session: spec.Session, done: make(chan struct{})}
	id, err := s.register(p)
	if err != nil {
		return nil, err
	}
	if err := s.boot.channel.send(message{Kind: kindExec, ID: id}, append([]*os.File{file}, stdio...)...); err != nil {
		s.exited(message{ID: id, Code: statusLost})
		return nil, fmt.Errorf("run %q: %w", spec.Argv[0], err)
	}
	return p, nil
}

func (s *sandbox) register(p *process) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, fmt.Errorf("run a command: %w", s.err)
	}
	s.next++
	s.commands[s.next] = p
	return s.next, nil
}

// Mailbox implements runtime.Sandbox.
func (s *sandbox) Mailbox() (requests, results *os.File) { return s.boot.requests, s.boot.results }

// pokeTime bounds a poke: it is a hint, and a guest that does not answer misses it.
const pokeTime = 2 * time.Second

// Poke implements runtime.Sandbox.
func (s *sandbox) Poke(guestPath string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pokeTime)
	defer cancel()
	return s.boot.client.Poke(ctx, guestPath)
}

// ReadFile implements runtime.Sandbox.
func (s *sandbox) ReadFile(ctx context.Context, guestPath string, limit int) ([]byte, error) {
	return s.boot.client.ReadFile(ctx, guestPath, limit)
}

// WriteFile implements runtime.Sandbox.
func (s *sandbox) WriteFile(ctx context.Context, guestPath string, mode uint32, data []byte) error {
	return s.boot.client.WriteFile(ctx, guestPath, mode, data)
}

// Status implements runtime.Sandbox.
func (s *sandbox) Status() runtime.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.NetworkUp, status.NetworkReason = s.network == "", s.network
	return status
}

// Done implements runtime.Sandbox.
func (s *sandbox) Done() <-chan struct{} { return s.done }

// Err implements runtime.Sandbox.
func (s *sandbox) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// process is one session command.
type process struct {
	sandbox *sandbox
	session domain.SessionID
	once    sync.Once
	done    chan struct{}
	status  runtime.ExitStatus // written before done is closed
}

func (p *process) end(status runtime.ExitStatus) {
	p.once.Do(func() {
		p.status = status
		close(p.done)
	})
}

// Done implements runtime.Process.
func (p *process) Done() <-chan struct{} { return p.done }

// Exit implements runtime.Process.
func (p *process) Exit() runtime.ExitStatus {
	select {
	case <-p.done:
		return p.status
	default:
		return runtime.ExitStatus{}
	}
}

// Signal implements runtime.Process.
func (p *process) Signal(ctx context.Context, sig unix.Signal) error {
	return p.sandbox.boot.client.SignalSession(ctx, p.session, sig)
}

// End implements runtime.Process.
func (p *process) End(ctx context.Context) (int, error) {
	n, err := p.sandbox.boot.client.EndSession(ctx, p.session)
	if errors.Is(err, control.ErrNotFound) {
		return 0, nil
	}
	return n, err
}
