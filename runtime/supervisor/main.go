package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/anchor"
	"lazaret.dev/lazaret/runtime/bundle"
	"lazaret.dev/lazaret/runtime/gvisor"
)

// Mode is the hidden mode Main implements.
const Mode = "__rs"

// The descriptors Main is started with.
const (
	fdChannel  = 3
	fdInitIn   = 4 // becomes the guest init's standard input
	fdInitOut  = 5 // and output
	fdsOfMain  = 6
	sandboxID  = "sandbox"
	sentryPID  = roomState + "/sentry.pid"
	statusLost = 125
	settleTime = 2 * time.Second
)

// networkNamespace is RS's own: it is process 1 of the only PID namespace its proc
// shows.
const networkNamespace = "/proc/1/ns/net"

// supervisor is the state of RS.
type supervisor struct {
	channel         *channel
	initIn, initOut *os.File
	spec            runtime.Spec
	runsc           gvisor.Runsc
	control         gvisor.Control
	workspace       *workspace
	sandbox         *proc.Process // runsc run
	warmed          sync.Once     // of the workspace, after the first command's start

	mu       sync.Mutex // protects what follows
	stopping bool
	reason   string // why the sandbox is about to end, where that is known
}

// Main is RS. It ends with the sandbox, on request, or with its coordinator.
func Main([]string) int {
	// The signal and the pipe first: from here on nothing outlives the coordinator.
	if err := userns.Enter(); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret supervisor: %v\n", err)
		return statusLost
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "lazaret supervisor: not started by the coordinator")
		return statusLost
	}
	unix.Umask(0o022) // what it makes, other users of the guest may have to enter
	for fd := fdChannel; fd < fdsOfMain; fd++ {
		unix.CloseOnExec(fd)
	}
	ch, err := openChannel(os.NewFile(fdChannel, "coordinator"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "lazaret supervisor: %v\n", err)
		return statusLost
	}
	go proc.ReapStrangers(context.Background())
	s := &supervisor{
		channel: ch,
		initIn:  os.NewFile(fdInitIn, "init-in"), initOut: os.NewFile(fdInitOut, "init-out"),
	}
	if err := s.launch(); err != nil {
		_ = ch.send(failure(err))
		return statusLost
	}
	// What starting took goes back once the first command has had the processors;
	// this process idles for hours.
	s.spec = runtime.Spec{}
	time.AfterFunc(settleTime, proc.GiveBack)
	return s.serve()
}

// step tells HC what begins now, then does it.
func (s *supervisor) step(name string, do func() error) error {
	if err := s.channel.send(message{Kind: kindStep, Text: name}); err != nil {
		return err
	}
	return do()
}

// launch brings the sandbox up, to the point where runsc runs and the power over
// the network is gone.
func (s *supervisor) launch() error {
	m, files, err := s.channel.receive()
	if err != nil {
		return err
	}
	if m.Kind != kindLaunch || len(files) == 0 {
		closeAll(files)
		return fmt.Errorf("first message is %d with %d descriptors, want a launch", m.Kind, len(files))
	}
	record, err := unseal(files[0], maxSpec)
	if err != nil {
		return err
	}
	files[0].Close()
	if err := canon.Unmarshal(record, maxSpec, &s.spec); err != nil {
		return err
	}
	s.runsc = gvisor.Runsc{Path: roomRunsc, Root: roomState, Directfs: s.spec.Directfs}
	s.control = s.runsc.Control(sandboxID)
	if err := s.step("mounts", func() error { return s.mount(files[1:]) }); err != nil {
		return err
	}
	if err := s.step("network", s.network); err != nil {
		return err
	}
	if err := s.step("workspace", s.awaitWorkspace); err != nil {
		return err
	}
	return s.step("sandbox", s.start)
}

// mount builds the room and the guest's root. trees are HC's in root mode, with the
// mailbox last; otherwise RS may open them itself, and must.
func (s *supervisor) mount(trees []*os.File) error {
	var mailbox *os.File
	var t *anchor.Trees
	var err error
	if s.spec.IDs.Mode == runtime.ModeRoot {
		if len(trees) == 0 {
			return errors.New("got no trees")
		}
		mailbox, trees = trees[len(trees)-1], trees[:len(trees)-1]
		t, err = anchor.FromFiles(s.spec, trees)
	} else {
		closeAll(trees)
		t, err = anchor.OpenTrees(s.spec, nil)
	}
	if err != nil {
		return err
	}
	defer t.Close()
	fuses, err := openFuse(2 + len(t.GitDirs))
	if err != nil {
		return err
	}
	if err := enterRoom(t); err != nil {
		closeAll(fuses)
		return err
	}
	// It reads the workspace while the rest is set up.
	if s.workspace, err = startWorkspace(s.spec, t, fuses); err != nil {
		return err
	}
	if err := s.mailbox(mailbox); err != nil {
		return err
	}
	view, isFile, err := look(s.spec)
	if err != nil {
		return err
	}
	if err := buildGuestRoot(s.spec, bundle.MountPoints(s.spec, isFile)); err != nil {
		return err
	}
	if err := writeGuestFiles(s.spec); err != nil {
		return err
	}
	return writeBundle(s.spec, view)
}

// awaitWorkspace waits for the workspace file system and looks at it for the first
// time.
func (s *supervisor) awaitWorkspace() error {
	if err := s.workspace.await(); err != nil {
		return err
	}
	return assertMountPoints(s.spec)
}

func (s *supervisor) mailbox(tree *os.File) error {
	if tree != nil {
		return anchor.Attach(tree, roomMailbox)
	}
	requests, results, err := mountMailbox()
	if err != nil {
		return err
	}
	defer closeAll([]*os.File{requests, results})
	return s.channel.send(message{Kind: kindMailbox}, requests, results)
}

// start starts runsc and gives up the power it was started with.
func (s *supervisor) start() error {
	if err := assertNamespace(networkNamespace, "/proc/thread-self/ns/net"); err != nil {
		return err
	}
	p, err := proc.Start(proc.Spec{
		Path: s.runsc.Path, Args: s.runsc.Run(roomBundle, sentryPID, sandboxID),
		Env: runscEnv, Dir: "/",
		Files: []*os.File{s.initIn, s.initOut, os.Stderr},
	})
	if err != nil {
		return err
	}
	s.sandbox = p
	s.initIn.Close()
	s.initOut.Close()
	if err := dropNetworkAdministration(); err != nil {
		return err
	}
	return s.channel.send(message{Kind: kindRunning})
}

// runscEnv is all of its environment: nothing of the host's enters.
var runscEnv = []string{"PATH=/bin", "TMPDIR=/tmp"}

// assertNamespace checks that two names mean the same namespace.
func assertNamespace(a, b string) error {
	var first, second unix.Stat_t
	if err := unix.Stat(a, &first); err != nil {
		return fmt.Errorf("look at namespace %q: %w", a, err)
	}
	if err := unix.Stat(b, &second); err != nil {
		return fmt.Errorf("look at namespace %q: %w", b, err)
	}
	if first.Dev != second.Dev || first.Ino != second.Ino {
		return fmt.Errorf("namespace %q is not this process's own", a)
	}
	return nil
}
