package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime/image/vet"
)

const maxComplaint = 4096 // bytes kept of what a dying worker writes

// outcome is what a worker had to say.
type outcome struct {
	last  event
	notes []string
	why   string   // set when it failed
	rule  vet.Rule // set when an entry was refused
}

// runWorker runs one job on the root directory to its end. The worker has user,
// mount, network and IPC namespaces of its own, no environment, and no
// descriptors but those of protocol.go. It is killed when ctx ends, and has ended
// when runWorker returns.
func runWorker(ctx context.Context, o Options, root *os.File, j job, layers []*os.File, total int64) (outcome, error) {
	w, err := startWorker(o, root, layers)
	if err != nil {
		return outcome{why: failConfine}, err
	}
	defer w.close()
	stop := context.AfterFunc(ctx, func() { _ = w.process.Signal(unix.SIGKILL) })
	defer stop()

	complaint := w.complaint()
	go func() { _ = writeMessage(w.jobs, j) }() // fails only when the worker is gone, which is noticed below
	out, err := listen(w.events, o, total)
	if err != nil {
		_ = w.process.Signal(unix.SIGKILL)
	}
	<-w.process.Done()
	text := complaint()
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case out.last.Kind == eventFailed:
		return out, errors.New(out.last.Text)
	case err != nil || out.last.Kind != eventDone || w.process.Exit() != (proc.Exit{}):
		return out, errors.Join(fmt.Errorf("image worker ended with %s: %s", w.process.Exit(), printable(text)), err)
	}
	return out, nil
}

// worker is a running worker and this end of its pipes.
type worker struct {
	process            *proc.Process
	jobs, events, text *os.File
}

func startWorker(o Options, root *os.File, layers []*os.File) (_ *worker, err error) {
	w := &worker{}
	var theirs []*os.File
	defer func() {
		closeAll(theirs)
		if err != nil {
			w.close()
		}
	}()
	jobs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	w.jobs, theirs = ours, append(theirs, jobs)
	for _, end := range []**os.File{&w.events, &w.text} {
		r, out, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("make pipe: %w", err)
		}
		*end, theirs = r, append(theirs, out)
	}
	w.process, err = userns.Start(proc.Spec{
		Path:       proc.Self(),
		Args:       []string{"lazaret", o.mode},
		Files:      append(append(append([]*os.File(nil), theirs...), root), layers...),
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
		Setpgid:    true, // an interrupt from the terminal is the preparer's to handle
	}, o.IDs)
	if err != nil {
		return nil, fmt.Errorf("start image worker: %w", err)
	}
	return w, nil
}

func (w *worker) close() {
	for _, f := range []*os.File{w.jobs, w.events, w.text} {
		if f != nil {
			f.Close()
		}
	}
}

// complaint collects the worker's text; the returned function waits for its end.
func (w *worker) complaint() func() string {
	var once sync.WaitGroup
	var text []byte
	once.Go(func() {
		text, _ = io.ReadAll(io.LimitReader(w.text, maxComplaint))
		_, _ = io.Copy(io.Discard, w.text)
	})
	return func() string {
		once.Wait()
		return string(text)
	}
}

// listen reads events until the last one, or their end.
func listen(r io.Reader, o Options, total int64) (outcome, error) {
	var out outcome
	for {
		var ev event
		err := readMessage(r, maxEvent, &ev)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("listen to image worker: %w", err)
		}
		out.last = ev
		switch ev.Kind {
		case eventProgress:
			o.Progress(StageUnpack, min(ev.Bytes, total), total)
		case eventNote:
			if len(out.notes) < maxNotes {
				out.notes = append(out.notes, ev.Text)
			}
		case eventFailed:
			out.why, out.rule = ev.Why, ev.Rule
		case eventDone:
			o.Progress(StageUnpack, total, total)
		default:
			return out, fmt.Errorf("image worker sent the unknown event %.20q", ev.Kind)
		}
	}
}
