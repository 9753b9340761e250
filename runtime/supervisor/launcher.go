package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/anchor"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// Launcher is the real runtime.Launcher. The zero value works.
type Launcher struct {
	// Slirp is the path of slirp4netns; "" looks it up in PATH.
	Slirp string
	// Timeout bounds a launch; 0 is DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is far above any launch that will still succeed.
const DefaultTimeout = 60 * time.Second

// NewLauncher returns a Launcher with its defaults.
func NewLauncher() *Launcher { return &Launcher{} }

// Launch implements runtime.Launcher.
func (l *Launcher) Launch(ctx context.Context, spec runtime.Spec, progress func(string)) (_ runtime.Sandbox, err error) {
	timeout := l.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b := &boot{spec: spec, slirpPath: l.Slirp, progress: progress, begun: time.Now()}
	defer func() {
		if err != nil {
			b.undoAll()
		}
	}()
	if err := b.run(ctx); err != nil {
		return nil, b.explain(err)
	}
	return newSandbox(b), nil
}

// boot is one launch under way. What it acquires it either hands to a sandbox or
// undoes.
type boot struct {
	spec      runtime.Spec
	slirpPath string
	progress  func(string)
	begun     time.Time
	steps     []runtime.Step

	rs                *proc.Process
	channel           *channel
	errors            *tail
	slirp             *slirp
	client            *control.Client
	requests, results *os.File
	members           []member
	limited           bool // the guest enforces the bound on processes

	undo []func() // run in reverse
}

func (b *boot) onUndo(f func()) { b.undo = append(b.undo, f) }

func (b *boot) undoAll() {
	for i := len(b.undo) - 1; i >= 0; i-- {
		b.undo[i]()
	}
	b.undo = nil
}

// begin ends the step before and starts the named one.
func (b *boot) begin(name string) {
	b.endStep()
	b.steps = append(b.steps, runtime.Step{Name: name})
	b.begun = time.Now()
	if b.progress != nil {
		b.progress(name)
	}
}

func (b *boot) endStep() {
	if n := len(b.steps); n > 0 {
		b.steps[n-1].Micros = time.Since(b.begun).Microseconds()
	}
}

// explain adds what RS and runsc had to say to an error that does not say it.
func (b *boot) explain(err error) error {
	if b.errors == nil {
		return err
	}
	// RS is the last holder of the other end but for its children; all are gone
	// after undo, and their text is complete.
	b.undoAll()
	select {
	case <-b.errors.done:
	case <-time.After(time.Second):
	}
	var f *fault.Error
	if text := b.errors.text(); text != "" && !errors.As(err, &f) {
		return &fault.Error{Kind: fault.Sandbox, Message: "the sandbox did not start", Err: fmt.Errorf("%w (%s)", err, text)}
	}
	if !errors.As(err, &f) {
		return &fault.Error{Kind: fault.Sandbox, Message: "the sandbox did not start", Err: err}
	}
	return err
}

func (b *boot) run(ctx context.Context) error {
	b.begin("namespaces")
	if err := errors.Join(b.makeHomes(), b.makeStore()); err != nil {
		return err
	}
	if err := b.startSupervisor(); err != nil {
		return err
	}
	// A cancelled launch ends RS, and everything that waits for it notices.
	stop := context.AfterFunc(ctx, func() { _ = b.rs.Signal(unix.SIGKILL) })
	defer stop()
	sent := make(chan struct{}) // RS takes the launch message first, whatever is ready first
	network := b.startNetwork(ctx, sent)
	err := b.sendSpec()
	close(sent)
	if err != nil {
		return errors.Join(err, ctx.Err(), <-network)
	}
	if err := b.follow(ctx, network); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	b.begin("guest")
	if err := b.client.Ready(ctx); err != nil {
		return b.hear(err)
	}
	b.begin("checks")
	if err := b.takeInventory(); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	b.endStep()
	if stats, err := b.client.Stats(ctx); err == nil {
		b.limited = stats.ProcessLimit
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !stop() {
		return context.Cause(ctx)
	}
	return nil
}

// makeHomes makes the directories the State Anchors live in; RS fills them.
func (b *boot) makeHomes() error {
	for _, a := range b.spec.Anchors {
		home, err := anchor.Home(a)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(home, 0o700); err != nil {
			return fmt.Errorf("make state anchor %q: %w", a.Path, err)
		}
		if b.spec.IDs.Mode != runtime.ModeRoot {
			continue
		}
		if err := os.Lchown(home, int(b.spec.IDs.UIDs.Host), int(b.spec.IDs.GIDs.Host)); err != nil {
			return fmt.Errorf("give state anchor %q to the sandbox: %w", a.Path, err)
		}
	}
	return nil
}

// makeStore makes the directory for what the sandbox keeps of the workspace.
func (b *boot) makeStore() error {
	store := b.spec.Policy.Store
	if err := os.MkdirAll(store, 0o700); err != nil {
		return fmt.Errorf("make the workspace's storage: %w", err)
	}
	if b.spec.IDs.Mode != runtime.ModeRoot {
		return nil
	}
	if err := os.Lchown(store, int(b.spec.IDs.UIDs.Host), int(b.spec.IDs.GIDs.Host)); err != nil {
		return fmt.Errorf("give the workspace's storage to the sandbox: %w", err)
	}
	return nil
}

func (b *boot) startSupervisor() (err error) {
	ours, theirs, err := newChannelPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	if b.channel, err = openChannel(ours); err != nil {
		return err
	}
	b.onUndo(b.channel.close)
	initIn, toInit, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer initIn.Close()
	fromInit, initOut, err := os.Pipe()
	if err != nil {
		toInit.Close()
		return fmt.Errorf("make pipe: %w", err)
	}
	defer initOut.Close()
	b.client = control.NewClient(toInit, fromInit)
	b.onUndo(func() { b.client.Close() })
	if b.errors, err = newTail(); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer b.errors.started()
	b.rs, err = userns.Start(proc.Spec{
		Path: proc.Self(), Args: []string{"lazaret", Mode}, Dir: "/",
		Env:   []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: []*os.File{nil, b.errors.w, b.errors.w, theirs, initIn, initOut},
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}, b.spec.IDs)
	if err != nil {
		return err
	}
	b.onUndo(func() {
		_ = b.rs.Signal(unix.SIGKILL)
		<-b.rs.Done()
	})
	return nil
}

// startNetwork starts slirp4netns beside RS, and tells RS once the launch message is
// sent. The channel gets exactly one value.
func (b *boot) startNetwork(ctx context.Context, sent <-chan struct{}) <-chan error {
	done := make(chan error, 1)
	if !b.spec.Network.Enabled {
		done <- nil
		return done
	}
	path := b.slirpPath
	if path == "" {
		var err error
		if path, err = proc.LookPath("slirp4netns"); err != nil {
			done <- &fault.Error{Kind: fault.Host, Message: "no slirp4netns for the sandbox's network", Err: err,
				Fix: "install slirp4netns (Debian, Ubuntu: apt install slirp4netns), or set network.enabled = false"}
			return done
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	finished := make(chan struct{})
	// Undone before RS is: what waits for a dead RS's network would wait for ever.
	b.onUndo(func() {
		cancel()
		<-finished
		if b.slirp != nil {
			b.slirp.end()
		}
	})
	go func() {
		defer close(finished)
		s, err := startSlirp(ctx, path, b.spec.IDs.Mode, b.rs.PID())
		b.slirp = s // read after finished or done
		<-sent
		if err == nil {
			err = b.channel.send(message{Kind: kindNetworkUp})
		}
		done <- err
	}()
	return done
}

// sendSpec sends the launch message: the Spec, and in root mode the trees only this
// process may open.
func (b *boot) sendSpec() error {
	record, err := canon.Marshal(b.spec)
	if err != nil {
		return err
	}
	f, err := sealed("lazaret-spec", record)
	if err != nil {
		return err
	}
	defer f.Close()
	files := []*os.File{f}
	if b.spec.IDs.Mode == runtime.ModeRoot {
		trees, err := b.openTrees()
		defer closeAll(trees)
		if err != nil {
			return err
		}
		files = append(files, trees...)
	}
	return b.channel.send(message{Kind: kindLaunch}, files...)
}

func (b *boot) openTrees() ([]*os.File, error) {
	userNS, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", b.rs.PID()))
	if err != nil {
		return nil, fmt.Errorf("open the supervisor's user namespace: %w", err)
	}
	defer userNS.Close()
	t, err := anchor.OpenTrees(b.spec, userNS)
	if err != nil {
		return nil, err
	}
	mailbox, requests, results, err := detachedMailbox(userNS)
	if err != nil {
		return t.Files(), err
	}
	b.takeMailbox(requests, results)
	return append(t.Files(), mailbox), nil
}

func (b *boot) takeMailbox(requests, results *os.File) {
	b.requests, b.results = requests, results
	b.onUndo(func() { closeAll([]*os.File{requests, results}) })
}
