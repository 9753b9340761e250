package spawn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/handover"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
)

func logPath(root string) string { return filepath.Join(root, "log", "coordinator.log") }

// spawn starts a coordinator that owns lock and waits until it can be reached.
func (a attempt) spawn(ctx context.Context, lock *os.File) error {
	child, reports, err := a.startProcess(lock)
	if err != nil {
		return err
	}
	defer reports.Close()
	w := watch{attempt: a, child: child, reports: make(chan result), quit: make(chan struct{})}
	defer close(w.quit)
	go w.read(reports)
	err = w.await(ctx)
	if err != nil {
		a.clear(child)
	}
	return err
}

// clear removes what a coordinator that did not get far enough has left: one that
// was killed could not. The caller still holds the Domain's locks.
func (a attempt) clear(child *proc.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), endGrace)
	defer cancel()
	if _, err := child.Wait(ctx); err != nil {
		return // it lives, and clears up itself
	}
	_, _ = root.Clear(a.root)
	os.Remove(filepath.Join(a.plan.RuntimeDir, string(a.plan.Domain))) // fails while it holds anything
}

// startProcess starts the process: detached, in a session of its own, its output in the
// Domain's log, nothing inherited but the handover.
func (a attempt) startProcess(lock *os.File) (*proc.Process, *os.File, error) {
	sealed, err := handover.Seal(a.plan)
	if err != nil {
		return nil, nil, err
	}
	defer sealed.Close()
	log, err := openLog(a.root)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open ready pipe: %w", err)
	}
	defer w.Close()
	child, err := proc.Start(proc.Spec{
		Path: a.Path, Args: a.Args, Env: a.Env, Dir: "/",
		Files:  append([]*os.File{nil, log, log}, handover.Descriptors(sealed, w, lock)...),
		Setsid: true, Detached: true,
	})
	if err != nil {
		r.Close()
		return nil, nil, fmt.Errorf("start coordinator: %w", err)
	}
	return child, r, nil
}

// maxLog is how long a log may be before it is put aside at the next start.
const maxLog = 1 << 20

func openLog(root string) (*os.File, error) {
	path := logPath(root)
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("put log aside: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open coordinator's log: %w", err)
	}
	return f, nil
}

type result struct {
	report handover.Report
	err    error
}

// watch waits for a coordinator that starts.
type watch struct {
	attempt
	child   *proc.Process
	reports chan result
	quit    chan struct{}
	step    string // last step reported
}

func (w *watch) read(r io.Reader) {
	for {
		report, err := handover.ReadReport(r)
		select {
		case w.reports <- result{report, err}:
		case <-w.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

func (w *watch) await(ctx context.Context) error {
	bound := orDefault(w.StartTimeout, DefaultStartTimeout)
	late := time.NewTimer(bound)
	defer late.Stop()
	w.step = "start its process"
	for {
		select {
		case r := <-w.reports:
			done, err := w.report(r)
			if done {
				return err
			}
		case <-late.C:
			w.giveUp()
			return w.failed(fmt.Sprintf("the coordinator did not start in %v; its last step was: %s", bound, w.step), nil)
		case <-ctx.Done():
			w.giveUp()
			return ctx.Err()
		}
	}
}

func (w *watch) report(r result) (done bool, err error) {
	switch {
	case r.err != nil && errors.Is(r.err, io.EOF):
		return true, w.failed("the coordinator ended while starting; its last step was: "+w.step, nil)
	case r.err != nil:
		return true, w.failed("the coordinator's report cannot be read", r.err)
	case r.report.Failure != nil:
		return true, r.report.Failure.Err()
	case r.report.Ready:
		return true, nil
	case r.report.Step != "":
		w.step = r.report.Step
		w.progress(w.step)
	}
	return false, nil
}

func (w *watch) failed(message string, err error) error {
	return &fault.Error{Kind: fault.Sandbox, Message: message, Err: err, Fix: "see " + logPath(w.root)}
}

// endGrace is how long a coordinator that is given up may take to clean up.
const endGrace = 5 * time.Second

// giveUp ends a coordinator that is of no use: it is asked to, and killed when it
// does not. Its parts die with it.
func (w *watch) giveUp() {
	if err := w.child.Signal(unix.SIGTERM); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endGrace)
	defer cancel()
	if _, err := w.child.Wait(ctx); err != nil {
		_ = w.child.Signal(unix.SIGKILL)
	}
}
