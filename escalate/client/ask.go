package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

const (
	// The poll is a fallback for lost events: quick at first, because most
	// answers of a machine are, and slow for those of a person.
	pollFirst = 20 * time.Millisecond
	pollMost  = 500 * time.Millisecond
	// cancelWait is how long a withdrawn request may take to be confirmed.
	cancelWait = 4 * time.Second
)

var errTimeout = errors.New("no decision within --timeout: withdrawn")

// exchange is one request under way.
type exchange struct {
	*Client
	credential
	id    domain.RequestID
	next  uint32 // of the chunk to read
	acked uint32
	began bool // progress was reported
}

// ask sends the request and follows it to its end.
func (c *Client) ask(ctx context.Context, o options) (int, error) {
	cr, err := c.credential()
	if err != nil {
		return ExitNotRun, err
	}
	x := &exchange{Client: c, credential: cr, id: domain.NewRequestID(), next: 1}
	w := newWatch(filepath.Join(c.Base, "results"), filepath.Join(c.Base, "requests"))
	defer w.close()
	err = x.send(wire.RequestName(x.id), seal.Request, wire.Request{
		ID: x.id, Session: cr.session, Argv: o.argv, Dir: c.Dir, Why: o.why, Capability: cr.capability,
	})
	if err != nil {
		return ExitNotRun, fmt.Errorf("hand over the request: %w", err)
	}
	var limit <-chan time.Time
	if o.timeout > 0 {
		t := time.NewTimer(o.timeout)
		defer t.Stop()
		limit = t.C
	}
	return x.follow(ctx, w, limit)
}

// send writes a record so that it appears complete.
func (x *exchange) send(name string, r seal.SandboxRecord, v any) error {
	b, err := wire.SealSandbox(x.sandbox, r, v)
	if err != nil {
		return err
	}
	dir := filepath.Join(x.Base, "requests")
	temporary := filepath.Join(dir, wire.TemporaryName(x.id))
	// The coordinator's user need not be this process's.
	if err := os.WriteFile(temporary, b, 0o644); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(dir, name)); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// follow reads what comes until the result, a time-out or an interruption.
func (x *exchange) follow(ctx context.Context, w *watch, limit <-chan time.Time) (int, error) {
	poll := pollFirst
	for {
		moved, result, err := x.advance()
		if err != nil {
			return x.brokenOutput(err)
		}
		if result != nil {
			return x.finish(result)
		}
		if moved {
			poll = pollFirst
			continue
		}
		if x.began {
			limit = nil // decided in time
		}
		t := time.NewTimer(poll)
		select {
		case <-w.changed:
		case <-t.C:
			poll = min(2*poll, pollMost)
		case <-limit:
			t.Stop()
			return x.withdraw(w, ExitNotRun, errTimeout)
		case <-ctx.Done():
			t.Stop()
			return x.interrupted(ctx, w)
		}
		t.Stop()
	}
}

// advance takes what is there: progress, the next chunks, the result.
func (x *exchange) advance() (moved bool, result *wire.Result, err error) {
	x.progress()
	for x.next-1-x.acked < wire.MaxUnacknowledged {
		ok, err := x.chunk()
		if err != nil {
			return moved, nil, err
		}
		if !ok {
			break
		}
		moved = true
	}
	if x.acked+1 < x.next {
		x.acknowledge(false) // also what an earlier attempt could not say
	}
	if moved {
		return true, nil, nil
	}
	b, err := readSmall(x.result(wire.ResultName(x.id)))
	if err != nil {
		return false, nil, nil // not there yet
	}
	r, err := wire.OpenResult(x.coordinator, b)
	if err != nil || r.Request != x.id || x.next <= r.Chunks {
		return false, nil, nil // a forged or early result is no result
	}
	return false, &r, nil
}

func (x *exchange) result(name string) string { return filepath.Join(x.Base, "results", name) }

// progress says once that the command runs, and what it was changed to.
func (x *exchange) progress() {
	if x.began {
		return
	}
	b, err := readSmall(x.result(wire.ProgressName(x.id)))
	if err != nil {
		return
	}
	p, err := wire.OpenProgress(x.coordinator, b)
	if err != nil || p.Request != x.id {
		return
	}
	x.began = true
	if len(p.Argv) > 0 {
		x.remark("approved with changes, runs: %s", quoteWords(p.Argv))
	}
}

// chunk writes out the next chunk if it is there. A file that does not verify is
// as good as absent.
func (x *exchange) chunk() (bool, error) {
	b, err := readSmall(x.result(wire.ChunkName(x.id, x.next)))
	if err != nil {
		return false, nil // not there yet
	}
	c, err := wire.OpenChunk(x.coordinator, b)
	if err != nil || c.Request != x.id || c.Sequence != x.next {
		return false, nil // not the coordinator's
	}
	out := x.Stdout
	if c.Stream == wire.Stderr {
		out = x.Stderr
	}
	if _, err := out.Write(c.Data); err != nil {
		return false, err
	}
	x.next++
	return true, nil
}

// acknowledge tells the host what was taken. A failure costs time only: the next
// one says it again.
func (x *exchange) acknowledge(final bool) {
	taken := x.next - 1
	err := x.send(wire.AckName(x.id, taken, final), seal.Ack, wire.Ack{
		Request: x.id, Session: x.session, Sequence: taken, Final: final,
	})
	if err == nil {
		x.acked = taken
	}
}

// finish reports the result.
func (x *exchange) finish(r *wire.Result) (int, error) {
	x.acknowledge(true)
	switch r.Outcome {
	case escalate.OutcomeRan:
		if !x.began && len(r.Argv) > 0 {
			x.remark("approved with changes, ran: %s", quoteWords(r.Argv))
		}
		return r.Status, nil
	case escalate.OutcomeDenied:
		return ExitDenied, errors.New("denied by the developer" + because(r.Reason))
	case escalate.OutcomeExpired:
		return ExitNotRun, errors.New("not run" + because(r.Reason))
	case escalate.OutcomeCancelled:
		return ExitNotRun, errors.New("withdrawn" + because(r.Reason))
	case escalate.OutcomeFailed:
		return ExitNotRun, errors.New("approved, but it could not be started" + because(r.Reason))
	case escalate.OutcomeRefused:
		return ExitNotRun, errors.New("refused" + because(r.Reason))
	}
	return ExitNotRun, fmt.Errorf("the host answered %d, which this client does not know", r.Outcome)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// withdraw cancels the request and waits, a little, until the host says so.
func (x *exchange) withdraw(w *watch, code int, why error) (int, error) {
	err := x.send(wire.CancelName(x.id), seal.Cancel, wire.Cancel{Request: x.id, Session: x.session})
	if err != nil {
		return code, errors.Join(why, fmt.Errorf("withdraw the request: %w", err))
	}
	end := time.NewTimer(cancelWait)
	defer end.Stop()
	tick := time.NewTicker(pollFirst)
	defer tick.Stop()
	for {
		b, err := readSmall(x.result(wire.ResultName(x.id)))
		if err == nil {
			if r, err := wire.OpenResult(x.coordinator, b); err == nil && r.Request == x.id {
				x.next = r.Chunks + 1 // what was not written out is not wanted any more
				x.acknowledge(true)
				return code, why
			}
		}
		select {
		case <-w.changed:
		case <-tick.C:
		case <-end.C:
			return code, errors.Join(why, errors.New("the host did not confirm"))
		}
	}
}

func (x *exchange) interrupted(ctx context.Context, w *watch) (int, error) {
	var s interrupted
	if errors.As(context.Cause(ctx), &s) {
		return x.withdraw(w, 128+int(s), errors.New("withdrawn: "+s.Error()))
	}
	return x.withdraw(w, ExitInterrupt, errors.New("withdrawn"))
}

// brokenOutput ends the request because nobody reads what comes.
func (x *exchange) brokenOutput(err error) (int, error) {
	w := newWatch(filepath.Join(x.Base, "results"), filepath.Join(x.Base, "requests"))
	defer w.close()
	if errors.Is(err, syscall.EPIPE) {
		code, _ := x.withdraw(w, 128+int(syscall.SIGPIPE), nil)
		return code, nil
	}
	return x.withdraw(w, ExitNotRun, fmt.Errorf("write the output: %w", err))
}
