package guest

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/guest/control"
)

// leftoverTime is how long what outlives a session's command may take to end
// politely before it is killed.
const leftoverTime = 250 * time.Millisecond

// The statuses a shell gives a command it could not run.
const (
	statusCannotRun = 126
	statusNotFound  = 127
)

// SessionMain is `lazaret-escalate --guest-session`. It returns the command's exit
// status once nothing of the session is left.
func SessionMain(args []string) int {
	options, err := control.ParseSession(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "lazaret guest session: %v\n", err)
		return statusCannotRun
	}
	w := &wrapper{roots: systemRoots(), session: options}
	return w.run()
}

// wrapper is the parent of one session's command and, as its subreaper, of every
// orphan the session makes.
type wrapper struct {
	roots   roots
	session control.Session

	terminal bool     // the session has one
	group    *os.File // the session's cgroup; nil where there is none
	child    int      // pid of the command
	ended    bool
	status   syscall.WaitStatus
}

func (w *wrapper) run() int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret guest session: become the subreaper: %v\n", err)
		return statusCannotRun
	}
	signals := make(chan os.Signal, 64) // more signals in flight than that are merged or lost, as in any process
	signal.Notify(signals, caught()...)
	if w.roots.hasCgroups() {
		group, err := w.roots.enterWrapper(string(w.session.ID), w.session.Processes)
		if err != nil {
			fmt.Fprintf(os.Stderr, "lazaret guest session: %v\n", err)
			return statusCannotRun
		}
		w.group = group
	}
	_, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	w.terminal = err == nil
	if status := w.start(); status != 0 {
		w.roots.dropSession(string(w.session.ID))
		return status
	}
	for !w.ended {
		w.handle(<-signals)
	}
	w.endLeftovers()
	w.roots.dropSession(string(w.session.ID))
	if w.status.Signaled() {
		return 128 + int(w.status.Signal())
	}
	return w.status.ExitStatus()
}

// caught lists what the wrapper takes for itself. All are caught, none ignored: an
// ignored signal stays ignored in the command.
func caught() []os.Signal {
	list := []os.Signal{
		unix.SIGCHLD,
		unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, // the terminal's: the command has them already
		unix.SIGHUP, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGALRM,
	}
	for n := unix.Signal(1); n <= relayLast; n++ {
		list = append(list, relayBase+n)
	}
	return list
}

func (w *wrapper) handle(s os.Signal) {
	sig, ok := s.(unix.Signal)
	if !ok {
		return
	}
	switch {
	case sig == unix.SIGCHLD:
		w.reap()
	case sig > relayBase:
		w.relay(sig - relayBase)
	case sig == unix.SIGHUP, sig == unix.SIGTERM:
		w.relay(sig)
		_ = unix.Kill(w.child, sig) // a shell is not in its foreground job's group
	case !w.terminal:
		w.relay(sig)
	}
}

func (w *wrapper) reap() {
	reapAll(func(pid int, status syscall.WaitStatus) {
		if pid == w.child {
			w.ended, w.status = true, status
		}
	})
}

// relay sends sig to the foreground process group, or to the command's group where
// there is no terminal.
func (w *wrapper) relay(sig unix.Signal) {
	group := w.child
	if w.terminal {
		if foreground, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err == nil && foreground > 1 {
			group = foreground
		} else {
			group = unix.Getpgrp()
		}
	}
	if group != unix.Getpgrp() {
		_ = unix.Kill(-group, sig)
		return
	}
	// The command shares the wrapper's own group, which SIGKILL or SIGSTOP for all
	// would take with it.
	self := os.Getpid()
	for pid, p := range w.roots.table() {
		if p.group == group && pid != self && pid != 1 && !p.dead {
			_ = unix.Kill(pid, sig)
		}
	}
}

// start starts the command and returns 0, or says why not and returns the status.
func (w *wrapper) start() int {
	if w.session.Dir != "" {
		if err := os.Chdir(w.session.Dir); err != nil {
			fmt.Fprintf(os.Stderr, "lazaret: enter directory %q: %v\n", w.session.Dir, errors.Unwrap(err))
			return statusCannotRun
		}
	}
	if err := w.limit(); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret: %v\n", err)
		return statusCannotRun
	}
	name := w.session.Command[0]
	path, err := lookPath(name, os.Getenv("PATH"))
	if err == nil {
		w.child, err = w.fork(path)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "lazaret: run %q: %v\n", name, err)
	if errors.Is(err, os.ErrNotExist) {
		return statusNotFound
	}
	return statusCannotRun
}

// limit applies the resource limits the command inherits.
func (w *wrapper) limit() error {
	if n := uint64(w.session.Processes); n != 0 && w.group == nil {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limit processes to %d: %w", n, err)
		}
	}
	return limitOpenFiles(w.session.OpenFiles)
}

// fork starts the command inside the session's cgroup.
func (w *wrapper) fork(path string) (int, error) {
	attr := &syscall.SysProcAttr{
		// With a terminal the command stays in the wrapper's group, which is the
		// foreground one: a shell finds the terminal its own, with no moment in between.
		Setpgid: !w.terminal,
	}
	if w.group != nil {
		// Born in the cgroup, so that the wrapper need never be in it: a full one
		// would keep its Go runtime from making a thread, which is fatal.
		attr.UseCgroupFD, attr.CgroupFD = true, int(w.group.Fd())
		defer w.group.Close()
	}
	if w.session.UID != 0 || w.session.GID != 0 {
		attr.Credential = &syscall.Credential{Uid: w.session.UID, Gid: w.session.GID}
	}
	return syscall.ForkExec(path, w.session.Command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr,
	})
}

// childless reaps what has ended and says whether no child is left. For a subreaper
// that is to have no descendant.
func childless() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG|unix.WALL, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			return true
		case errors.Is(err, syscall.EINTR), err == nil && pid > 0:
		default:
			return false
		}
	}
}

// endLeftovers ends what the command left behind: asked as a closing terminal asks,
// then killed.
func (w *wrapper) endLeftovers() {
	id, self := string(w.session.ID), os.Getpid()
	if childless() && len(w.roots.members(sessionGroup(id))) == 0 {
		return // the rule; looking for what hides takes milliseconds
	}
	members := func() []int { return w.roots.sessionMembers(id, self) }
	left := members()
	for _, pid := range left {
		_ = unix.Kill(pid, unix.SIGHUP)
		_ = unix.Kill(pid, unix.SIGTERM)
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	for deadline := time.Now().Add(leftoverTime); len(left) > 0 && time.Now().Before(deadline); left = members() {
		time.Sleep(2 * time.Millisecond)
	}
	w.roots.sweepSession(id, self, w.reap)
	w.reap()
}
