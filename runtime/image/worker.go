package image

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/apex/log"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// WorkerMain is the hidden mode that applies layers to, or empties, one root
// directory. It expects the descriptors of protocol.go and namespaces of its own.
func WorkerMain([]string) int { return workerMain(testSwitch{}) }

func workerMain(allowed testSwitch) int {
	log.SetLevel(log.ErrorLevel) // the extractor tells what we tell by notes
	events := os.NewFile(1, "events")
	if err := userns.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var j job
	if err := readMessage(os.Stdin, maxJob, &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	j.Switch = j.Switch.and(allowed)
	done, err := work(j, events)
	if err != nil {
		done = failure(err)
	}
	if err := writeMessage(events, done); err != nil {
		return 1
	}
	if done.Kind == eventFailed {
		return 1
	}
	return 0
}

// and returns the switches set in both.
func (s testSwitch) and(t testSwitch) testSwitch {
	return testSwitch{s.NoVet && t.NoVet, s.NoChroot && t.NoChroot, s.NoLandlock && t.NoLandlock}
}

func work(j job, events io.Writer) (event, error) {
	root, note, err := confine(rootFD, j)
	if err != nil {
		return event{}, &workError{failConfine, err}
	}
	switch j.Action {
	case jobEmpty:
		return event{Kind: eventDone}, empty(root)
	case jobUnpack:
		a := newApplier(root, j, events)
		if note != "" {
			a.note(note)
		}
		if err := a.apply(); err != nil {
			return event{}, err
		}
		if err := adapt(root, j.Adapt); err != nil {
			return event{}, err
		}
		if err := unix.Syncfs(rootFD); err != nil {
			return event{}, fmt.Errorf("sync file system: %w", err)
		}
		return a.progress(eventDone), nil
	default:
		return event{}, fmt.Errorf("unknown job %q", j.Action)
	}
}

// empty removes everything in root, and leaves root.
func empty(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(root + "/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// workError is a failure with its reason for the preparer.
type workError struct {
	why string
	err error
}

func (e *workError) Error() string { return e.err.Error() }
func (e *workError) Unwrap() error { return e.err }

// failure turns err into the worker's last event.
func failure(err error) event {
	ev := event{Kind: eventFailed, Why: failInternal, Text: printable(err.Error())}
	var refusal *vet.Refusal
	var work *workError
	switch {
	case errors.As(err, &refusal):
		ev.Why, ev.Rule = failVet, refusal.Rule
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		ev.Why = failSpace
	case errors.As(err, &work):
		ev.Why = work.why
	}
	return ev
}

// printable returns s with everything but plain text escaped, and bounded: names
// in an image are its maker's.
func printable(s string) string {
	const limit = 4096
	if len(s) > limit {
		s = s[:limit]
	}
	q := strconv.QuoteToASCII(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
