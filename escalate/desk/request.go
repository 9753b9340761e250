package desk

import (
	"context"
	"errors"
	"fmt"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/mailbox"
	"lazaret.dev/lazaret/escalate/policy"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// state is where a request stands. It only grows:
//
//	waiting ──► running ──► ended        approved
//	   └──────────────────►              denied, expired, withdrawn
type state uint8

const (
	waiting state = iota
	running
	ended
)

// request is one request from its acceptance until its result was taken.
type request struct {
	pending  escalate.Pending
	plan     *policy.Plan
	delivery *delivery
	done     chan struct{} // closed once ended, with everything reaped

	// Under the desk's mu.
	state  state
	timer  func() // stops the expiry, later the keeping of the result
	cancel context.CancelCauseFunc
}

func (r *request) stopTimer() {
	if r.timer != nil {
		r.timer()
		r.timer = nil
	}
}

func (r *request) id() domain.RequestID { return r.pending.Request.ID }

// Why a request ends without a decision, as its asker reads it.
var (
	errSessionEnded = errors.New("the session ended")
	errWithdrawn    = errors.New("withdrawn by the asker")
	errAckTimeout   = errors.New("nobody inside took the output in time")
	errDelivery     = errors.New("the output could not be delivered")
	errExpired      = errors.New("nobody decided in time")
)

// receive takes one mailbox entry. It runs on the inbox's goroutine, one at a time.
func (d *Desk) receive(e mailbox.Entry) {
	var err error
	switch e.Kind {
	case wire.KindRequest:
		err = d.receiveRequest(e)
	case wire.KindCancel:
		err = d.receiveCancel(e)
	case wire.KindAck:
		err = d.receiveAck(e)
	}
	if err != nil {
		d.refusedEntry(string(e.Request), err)
	}
}

func (d *Desk) receiveRequest(e mailbox.Entry) error {
	req, err := d.cfg.Authority.OpenRequest(e.Data)
	if err != nil && !errors.Is(err, sign.ErrCapability) {
		return err // not the sandbox's own words: there is nobody to answer
	}
	if req.ID != e.Request {
		return fmt.Errorf("request %q under the name of %q: %w", req.ID, e.Request, wire.ErrMalformed)
	}
	if err != nil {
		return d.answerRefused(req, "its session capability is not one of this sandbox")
	}
	if reason := d.admit(req); reason != "" {
		return d.answerRefused(req, reason)
	}
	plan, err := d.judge(req)
	if err != nil {
		return d.answerRefused(req, refusalText(err))
	}
	r, err := d.newRequest(req, plan)
	if err != nil {
		plan.Close()
		return err
	}
	sink, reason := d.store(r)
	if reason != "" {
		plan.Close()
		return d.answerRefused(req, reason)
	}
	sink.Pending(r.pending)
	return nil
}

// admit returns why the request is refused before anything is looked at, if so.
func (d *Desk) admit(req wire.Request) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.cfg.Enabled {
		return "escalation is off for this profile"
	}
	s := d.sessions[req.Session]
	if s == nil || d.closed {
		return errSessionEnded.Error()
	}
	if !s.take(d.cfg.Clock.Now()) {
		return fmt.Sprintf("too many requests: %d at once, then one every %v", burst, refill)
	}
	mine, all, held := d.load(req.Session)
	switch {
	case mine >= maxPendingSession, all >= maxPending:
		return fmt.Sprintf("%d requests wait already", mine)
	case held >= maxHeldBytes:
		return "the programs of waiting requests take too much memory"
	}
	return ""
}

// load counts what waits, and the bytes held by what waits or runs.
func (d *Desk) load(session domain.SessionID) (mine, all int, held int64) {
	for _, r := range d.requests {
		if r.state == ended {
			continue
		}
		held += r.plan.Held()
		if r.state == waiting {
			all++
			if r.pending.Request.Session == session {
				mine++
			}
		}
	}
	return mine, all, held
}

func (d *Desk) judge(req wire.Request) (*policy.Plan, error) {
	if err := policy.CheckWhy(req.Why); err != nil {
		return nil, err
	}
	rel, err := d.policy.Relative(req.Dir)
	if err != nil {
		return nil, err
	}
	return d.policy.Judge(req.Argv, rel)
}

// refusalText is what the asker reads: our own sentence, without the sentinel.
func refusalText(err error) string {
	const head = "request refused: "
	text := err.Error()
	if errors.Is(err, policy.ErrRefused) && len(text) > len(head) && text[:len(head)] == head {
		return text[len(head):]
	}
	return text
}

func (d *Desk) newRequest(req wire.Request, plan *policy.Plan) (*request, error) {
	now := d.cfg.Clock.Now()
	p := escalate.Pending{
		Request: escalate.Request{
			ID: req.ID, Session: req.Session, Argv: req.Argv, Dir: plan.Relative, Why: req.Why,
		},
		Profile:      d.cfg.Profile,
		Program:      plan.Program,
		ProgramError: plan.ProgramError,
		HostDir:      plan.Dir,
		HostUser:     d.policy.User(),
		ReceivedUnix: now.Unix(),
		ExpiresUnix:  now.Add(d.cfg.Expire).Unix(),
		Warnings:     plan.Warnings,
		Files:        plan.Files,
	}
	digest, err := sign.Digest(p)
	if err != nil {
		return nil, err
	}
	p.Digest = digest
	r := &request{pending: p, plan: plan, done: make(chan struct{})}
	r.delivery = d.newDelivery(req.ID)
	return r, nil
}

// store makes r wait, or says why it cannot.
func (d *Desk) store(r *request) (Sink, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen.has(r.id()) || d.requests[r.id()] != nil {
		return nil, "it was asked before"
	}
	s := d.sessions[r.pending.Request.Session]
	if s == nil || d.closed {
		return nil, errSessionEnded.Error()
	}
	d.seen.add(r.id())
	d.requests[r.id()] = r
	r.timer = d.cfg.Clock.AfterFunc(d.cfg.Expire, func() { d.withdraw(r, errExpired) })
	return s.sink, ""
}

// answerRefused tells the asker why its request is not shown. A name in use is not
// answered: the answer would be taken for that request's.
func (d *Desk) answerRefused(req wire.Request, reason string) error {
	r := &request{
		pending: escalate.Pending{Request: escalate.Request{ID: req.ID, Session: req.Session}},
		done:    make(chan struct{}), delivery: d.newDelivery(req.ID), state: ended,
	}
	close(r.done)
	d.mu.Lock()
	used := d.seen.has(req.ID) || d.requests[req.ID] != nil
	if !used {
		d.requests[req.ID] = r
	}
	d.mu.Unlock()
	if used {
		return fmt.Errorf("request %q is a repetition", req.ID)
	}
	d.deliver(r, wire.Result{Outcome: escalate.OutcomeRefused, Reason: reason})
	return fmt.Errorf("request %q refused: %s", req.ID, reason)
}

// withdraw ends r without a decision: at once when it waits, through its run when
// it runs, and not at all when it has ended.
func (d *Desk) withdraw(r *request, cause error) {
	d.mu.Lock()
	switch r.state {
	case running:
		d.mu.Unlock()
		r.cancel(cause)
		return
	case ended:
		d.mu.Unlock()
		return
	}
	r.state = ended
	r.stopTimer()
	d.mu.Unlock()
	outcome := escalate.OutcomeCancelled
	if errors.Is(cause, errExpired) {
		outcome = escalate.OutcomeExpired
	}
	d.conclude(r, wire.Result{Outcome: outcome, Reason: cause.Error()}, cause.Error())
}

// conclude delivers the result of r, whose state is ended, and tells its session.
func (d *Desk) conclude(r *request, result wire.Result, detail string) {
	r.plan.Close()
	d.deliver(r, result)
	if s := d.session(r); s != nil {
		s.sink.Resolved(r.id(), result.Outcome, detail)
	}
	close(r.done)
}

func (d *Desk) session(r *request) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[r.pending.Request.Session]
}

// deliver writes the result and keeps it until it is taken, for a time.
func (d *Desk) deliver(r *request, result wire.Result) {
	result.Request, result.Chunks = r.id(), r.delivery.sent()
	if err := d.put(r.id(), wire.ResultName(r.id()), seal.Result, result); err != nil {
		d.cfg.Log.Error("deliver an escalation result", "request", r.id(), "error", err)
	}
	d.mu.Lock()
	d.kept = append(d.kept, r.id())
	var oldest *request
	if len(d.kept) > maxKept {
		oldest = d.requests[d.kept[0]]
		d.kept = d.kept[1:]
	}
	r.timer = d.cfg.Clock.AfterFunc(defaultKeep, func() { d.forget(r) })
	d.mu.Unlock()
	if oldest != nil {
		d.forget(oldest)
	}
}

// forget removes an ended request and its files.
func (d *Desk) forget(r *request) {
	d.mu.Lock()
	if r.state != ended || d.requests[r.id()] != r {
		d.mu.Unlock()
		return
	}
	delete(d.requests, r.id())
	r.stopTimer()
	for i, id := range d.kept {
		if id == r.id() {
			d.kept = append(d.kept[:i], d.kept[i+1:]...)
			break
		}
	}
	d.mu.Unlock()
	r.delivery.remove()
	d.out.Remove(wire.ProgressName(r.id()))
	d.out.Remove(wire.ResultName(r.id()))
}

func (d *Desk) put(id domain.RequestID, name string, record seal.CoordinatorRecord, v any) error {
	b, err := d.cfg.Authority.Seal(record, v)
	if err != nil {
		return err
	}
	if err := d.out.Put(id, name, b); err != nil {
		return err
	}
	d.wake()
	return nil
}

func (d *Desk) receiveCancel(e mailbox.Entry) error {
	c, err := wire.OpenCancel(d.cfg.Authority.Sandbox(), e.Data)
	if err != nil {
		return err
	}
	r := d.find(c.Request, c.Session)
	if r == nil {
		return fmt.Errorf("cancellation of %q: %w", c.Request, ErrNotPending)
	}
	d.withdraw(r, errWithdrawn)
	return nil
}

func (d *Desk) receiveAck(e mailbox.Entry) error {
	a, err := wire.OpenAck(d.cfg.Authority.Sandbox(), e.Data)
	if err != nil {
		return err
	}
	r := d.find(a.Request, a.Session)
	if r == nil {
		return fmt.Errorf("acknowledgement of %q: %w", a.Request, ErrNotPending)
	}
	if err := r.delivery.acknowledge(a.Sequence); err != nil {
		return err
	}
	if a.Final {
		d.forget(r)
	}
	return nil
}

// find returns the session's request of that name, if any.
func (d *Desk) find(id domain.RequestID, session domain.SessionID) *request {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.requests[id]; r != nil && r.pending.Request.Session == session {
		return r
	}
	return nil
}
