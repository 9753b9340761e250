package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/packet"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/anchor"
	"lazaret.dev/lazaret/runtime/workspacefs/daemon"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
)

const (
	// workspaceTime bounds how long the workspace file system may take to be ready. It
	// reads the ignore rules and indexes of the whole tree first.
	workspaceTime = 45 * time.Second
	// lastWriteTime bounds how long its daemon may take to write what it keeps.
	lastWriteTime = 500 * time.Millisecond
	// transientBytes bounds what the generation holds of the workspace in memory when
	// the configuration bounds nothing.
	transientBytes = 256 << 20
	// maxKept bounds the directories RS keeps in use.
	maxKept = 256
)

// workspace is RS's hold on the workspace file system.
type workspace struct {
	daemon *proc.Process
	conn   *packet.Conn
	store  uint64 // mount id of Domain storage in the room
	limit  *limiter

	mu    sync.Mutex // guards what follows
	kept  []*os.File // directories whose files decide something
	ended bool
}

// startWorkspace mounts the connections and starts the daemon behind them. fuses are
// /dev/fuse, opened for each; only the daemon's copies are left open afterwards, so that
// its death is the end of the file system and never a hang. The room is entered.
func startWorkspace(spec runtime.Spec, trees *anchor.Trees, fuses []*os.File) (*workspace, error) {
	defer closeAll(fuses)
	places := []string{roomWorkspace, roomGit}
	for i := range trees.GitDirs {
		places = append(places, roomOutside(i))
	}
	for i, at := range places {
		if err := mountFuse(fuses[i], at); err != nil {
			return nil, err
		}
	}
	r := link.Resources{Policy: spec.Policy, Workspace: spec.Workspace, Tree: fuses[0], Git: fuses[1],
		Host: trees.Workspace, GitDirs: trees.GitDirs, GitDirFuses: fuses[2:]}
	// Opened where RS knows it: only a mount of its own namespace can be cloned.
	var err error
	if r.Store, err = os.Open(roomStore); err != nil {
		return nil, fmt.Errorf("open Domain storage: %w", err)
	}
	defer r.Store.Close()
	w := &workspace{limit: newLimiter(mountsPerSecond, mountsAtOnce, mountsInAll)}
	if w.store, err = mountID(int(r.Store.Fd())); err != nil {
		return nil, err
	}
	if r.Transient, err = transient(spec.Limits.TmpBytes); err != nil {
		return nil, err
	}
	defer r.Transient.Close()
	return w, w.start(&r)
}

func (w *workspace) start(r *link.Resources) error {
	ours, theirs, err := packet.Pair("the workspace file system", "supervisor")
	if err != nil {
		return err
	}
	defer theirs.Close()
	if w.conn, err = packet.Open(ours); err != nil {
		return err
	}
	w.daemon, err = proc.Start(proc.Spec{
		Path: proc.Self(), Args: []string{"lazaret", daemon.Mode}, Dir: "/",
		Files:      []*os.File{nil, os.Stderr, os.Stderr, daemon.Descriptor: theirs},
		Cloneflags: unix.CLONE_NEWNS,
	})
	if err != nil {
		return fmt.Errorf("start the workspace file system: %w", err)
	}
	return r.Send(w.conn)
}

// await waits until the file system answers, shows the host's git directories in it,
// and makes it pass on mounts to come. It returns before runsc may start.
func (w *workspace) await() error {
	late := time.AfterFunc(workspaceTime, func() { _ = w.daemon.Signal(unix.SIGKILL) })
	step := "start"
	for {
		var m link.Message
		files, err := w.conn.Receive(&m)
		if err != nil {
			return w.lost(step, !late.Stop(), err)
		}
		switch m.Kind {
		case link.KindStep:
			step = m.Text
		case link.KindGit:
			if err := w.placeGit(m.Git); err != nil {
				return err
			}
		case link.KindMount:
			w.mount(m, files)
		case link.KindFailed:
			closeAll(files)
			return m.Err()
		case link.KindReady:
			if !late.Stop() {
				return w.lost(step, true, io.EOF)
			}
			if err := w.keepRoot(); err != nil {
				return err
			}
			return share(roomWorkspace)
		}
		closeAll(files)
	}
}

// lost explains the end of the daemon before it was ready.
func (w *workspace) lost(step string, late bool, err error) error {
	if late {
		return &fault.Error{Kind: fault.Sandbox,
			Message: fmt.Sprintf("the workspace file system was not ready after %v (last step: %s)", workspaceTime, step),
			Fix:     "check that the workspace lies on a local disk, and is not far larger than a repository"}
	}
	if errors.Is(err, io.EOF) {
		<-w.daemon.Done()
		return fmt.Errorf("the workspace file system ended with %v (last step: %s)", w.daemon.Exit(), step)
	}
	return err
}

// serve does what the daemon asks for until it is gone, and tells HC what it reports.
func (w *workspace) serve(tell func(message) error) {
	for {
		var m link.Message
		files, err := w.conn.Receive(&m)
		if err != nil {
			return
		}
		switch m.Kind {
		case link.KindMount, link.KindGit:
			w.mount(m, files)
		case link.KindChanged:
			if changed, ok := changedMessage(m.Path); ok {
				_ = tell(changed) // fails only when HC is gone, and this process with it
			}
		}
		closeAll(files)
	}
}

// mount places one directory of Domain storage or one git directory, within bounds: a
// guest decides how often it is asked for. Where it fails the daemon serves the name as
// well, with the same decisions.
func (w *workspace) mount(m link.Message, files []*os.File) {
	if !w.limit.take() {
		return
	}
	var err error
	switch {
	case m.Kind == link.KindGit:
		err = w.placeGit(m.Git)
	case len(files) == 1:
		err = w.placeHeld(m.Path, files[0])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "lazaret supervisor: %v\n", err)
	}
}

// end has the daemon write what it keeps. What it does not finish in time is killed
// with everything else.
func (w *workspace) end() {
	if w == nil {
		return
	}
	_ = w.conn.Close()
	w.mu.Lock()
	closeAll(w.kept) // they would keep the file system mounted
	w.kept, w.ended = nil, true
	w.mu.Unlock()
	select {
	case <-w.daemon.Done():
	case <-time.After(lastWriteTime):
	}
}
