package desk

import (
	"context"
	"fmt"
	"slices"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/policy"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// maxReason bounds a denial's reason, in bytes.
const maxReason = escalate.MaxWhyBytes

// Decide takes a session's decision. It is used once: the first that verifies and
// fits ends the waiting. Any error leaves the request waiting.
func (d *Desk) Decide(session domain.SessionID, signed escalate.SignedDecision) error {
	r, dec, err := d.verify(session, signed)
	if err != nil {
		return err
	}
	if dec.Verdict != escalate.VerdictApprove {
		return d.deny(r, dec)
	}
	plan, edited := r.plan, []string(nil)
	if len(dec.Argv) > 0 && !slices.Equal(dec.Argv, r.pending.Request.Argv) {
		if plan, err = d.policy.Judge(dec.Argv, r.plan.Relative); err != nil {
			return fmt.Errorf("%w: the edited command: %s", ErrBadDecision, refusalText(err))
		}
		edited = dec.Argv
	}
	if err := d.approve(r, plan, edited); err != nil {
		if edited != nil {
			plan.Close()
		}
		return err
	}
	return nil
}

// verify finds the waiting request a decision is about.
func (d *Desk) verify(session domain.SessionID, signed escalate.SignedDecision) (*request, escalate.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var none escalate.Decision
	s := d.sessions[session]
	if s == nil {
		return nil, none, ErrNotPending
	}
	dec, err := sign.VerifyDecision(s.anchor, signed)
	if err != nil {
		return nil, none, fmt.Errorf("%w: %w", ErrBadDecision, err)
	}
	r := d.requests[dec.Request]
	if r == nil || r.state != waiting || r.pending.Request.Session != session {
		return nil, none, ErrNotPending
	}
	switch {
	case dec.Session != session:
		return nil, none, fmt.Errorf("%w: it names another session", ErrBadDecision)
	case !sign.SameDigest(dec.Digest, r.pending.Digest):
		return nil, none, fmt.Errorf("%w: it is about other bytes than were shown", ErrBadDecision)
	case len(dec.Reason) > maxReason:
		return nil, none, fmt.Errorf("%w: its reason has %d bytes, at most %d are allowed", ErrBadDecision, len(dec.Reason), maxReason)
	}
	return r, dec, nil
}

func (d *Desk) deny(r *request, dec escalate.Decision) error {
	d.mu.Lock()
	if r.state != waiting {
		d.mu.Unlock()
		return ErrNotPending
	}
	r.state = ended
	r.stopTimer()
	d.mu.Unlock()
	reason := dec.Reason
	if dec.Verdict == escalate.VerdictAbort && reason == "" {
		reason = "the developer ended the session"
	}
	d.conclude(r, wire.Result{Outcome: escalate.OutcomeDenied, Reason: reason}, reason)
	if s := d.session(r); dec.Verdict == escalate.VerdictAbort && s != nil {
		s.sink.AbortSession(reason)
	}
	return nil
}

// approve starts the run of r. On success the run owns plan.
func (d *Desk) approve(r *request, plan *policy.Plan, edited []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.state != waiting || d.closed {
		return ErrNotPending
	}
	ctx, cancel := context.WithCancelCause(d.ctx)
	r.state, r.cancel = running, cancel
	r.stopTimer()
	if plan != r.plan {
		r.plan.Close()
		r.plan = plan
	}
	d.runs.Go(func() {
		defer cancel(nil)
		d.run(ctx, r, edited)
	})
	return nil
}
