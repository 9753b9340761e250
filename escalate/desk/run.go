package desk

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/launch"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
)

const (
	// drainQuiet is how long an ended program's pipes may stay silent: something
	// it left behind may hold them open for ever.
	drainQuiet = 300 * time.Millisecond
	// drainMost is how much is still read then: more than a pipe holds.
	drainMost = 1 << 20
)

// run carries an approved request to its end.
func (d *Desk) run(ctx context.Context, r *request, edited []string) {
	result, detail := d.execute(ctx, r, edited)
	result.Argv = edited
	d.mu.Lock()
	r.state = ended
	d.mu.Unlock()
	d.conclude(r, result, detail)
}

func (d *Desk) execute(ctx context.Context, r *request, edited []string) (wire.Result, string) {
	failed := func(err error) (wire.Result, string) {
		return wire.Result{Outcome: escalate.OutcomeFailed, Reason: err.Error()}, err.Error()
	}
	bound, err := r.plan.Bind()
	if err != nil {
		return failed(err)
	}
	proc, err := launch.Start(bound, r.plan.Argv, r.plan.Dir, d.cfg.Environ)
	bound.Close()
	if err != nil {
		return failed(err)
	}
	if s := d.session(r); s != nil {
		s.sink.Resolved(r.id(), escalate.OutcomeRunning, "")
	}
	progress := wire.Progress{Request: r.id(), Outcome: escalate.OutcomeRunning, Argv: edited}
	if err := d.put(r.id(), wire.ProgressName(r.id()), seal.Progress, progress); err != nil {
		d.cfg.Log.Warn("tell the asker its command runs", "request", r.id(), "error", err)
	}
	d.supervise(ctx, r, proc)
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.Canceled) {
			cause = errSessionEnded
		}
		return wire.Result{Outcome: escalate.OutcomeCancelled, Reason: cause.Error()}, cause.Error()
	}
	return wire.Result{Outcome: escalate.OutcomeRan, Status: proc.Exit().Status()}, proc.Exit().String()
}

// supervise delivers the output of p and returns when p has been reaped and its
// output delivered, or when ctx has ended and p's group has been killed.
func (d *Desk) supervise(ctx context.Context, r *request, p *launch.Run) {
	var pumps sync.WaitGroup
	pumps.Go(func() { d.pump(ctx, r, p, p.Stdout, wire.Stdout) })
	pumps.Go(func() { d.pump(ctx, r, p, p.Stderr, wire.Stderr) })
	drained := make(chan struct{})
	go func() {
		pumps.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		// Both pipes are closed; the program may go on without output.
		select {
		case <-p.Done():
		case <-ctx.Done():
			p.Kill()
		}
	case <-ctx.Done():
		p.Kill()
	}
	<-drained
	<-p.Done()
}

// pump reads one pipe and delivers it until its end. It closes the pipe.
func (d *Desk) pump(ctx context.Context, r *request, p *launch.Run, pipe *os.File, stream wire.Stream) {
	defer pipe.Close()
	stop, woken := make(chan struct{}), make(chan struct{})
	defer close(stop)
	go func() { // ends a Read that nothing else would end
		defer close(woken)
		select {
		case <-stop:
		case <-ctx.Done():
		case <-p.Done():
		}
		_ = pipe.SetReadDeadline(time.Unix(1, 0))
	}()
	buf := make([]byte, wire.MaxChunk)
	for late := 0; ctx.Err() == nil && late <= drainMost; {
		over := isClosed(p.Done())
		if over { // take what is in the pipe, and no more
			<-woken
			_ = pipe.SetReadDeadline(time.Now().Add(drainQuiet))
		}
		n, err := pipe.Read(buf)
		if n > 0 {
			if !d.deliverChunk(ctx, r, stream, buf[:n]) {
				return
			}
			if over {
				late += n
			}
			continue
		}
		if err != nil && (over || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (d *Desk) deliverChunk(ctx context.Context, r *request, stream wire.Stream, data []byte) bool {
	err := r.delivery.send(ctx, stream, data)
	if err == nil {
		return true
	}
	if ctx.Err() == nil {
		d.cfg.Log.Error("deliver escalation output", "request", r.id(), "error", err)
		r.cancel(errDelivery)
	}
	return false
}
