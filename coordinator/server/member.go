package server

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"lazaret.dev/lazaret/coordinator/session"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// member is one session as the server sees it: what the session asks of its host
// (session.Host), and what the desk tells it (Sink).
type member struct {
	server  *Server
	id      domain.SessionID
	session *session.Session

	mu      sync.Mutex
	state   session.State
	pending map[domain.RequestID]struct{}
}

func (s *Server) newMember(conn net.Conn) *member {
	m := &member{server: s, id: domain.NewSessionID(), pending: map[domain.RequestID]struct{}{}}
	m.session = session.New(session.Config{
		ID: m.id, Conn: conn, Host: m, Grace: s.cfg.Grace, Log: s.cfg.Log,
	})
	return m
}

// Prepare implements session.Host: the profile's install step first, and then
// what the command gets from us.
func (m *member) Prepare(ctx context.Context, start wire.Start, notify func(wire.Notice)) (runtime.ExecSpec, error) {
	p := m.server.cfg.Plan
	if err := m.server.install.await(ctx, notify); err != nil {
		if len(start.Argv) == 0 {
			return runtime.ExecSpec{}, err
		}
		// A command of the developer's own, a shell say, is how they look into it.
		notify(wire.Notice{Level: wire.LevelWarning, Text: err.Error()})
	}
	spec := runtime.ExecSpec{Argv: start.Argv, Dir: start.Dir}
	if len(spec.Argv) == 0 {
		spec.Argv = p.Command
	}
	if spec.Dir == "" {
		spec.Dir = p.Spec.WorkspaceGuest
	}
	for _, v := range start.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || !sessionVariable(name) {
			return runtime.ExecSpec{}, &wire.Refused{Code: wire.CodeProtocol,
				Message: fmt.Sprintf("variable %q is not one a session may set", name)}
		}
		spec.Env = append(spec.Env, v)
	}
	spec.Env = append(spec.Env, "LAZARET_SESSION="+string(m.id))
	if m.server.cfg.Capability != nil {
		capability, err := m.server.cfg.Capability(m.id)
		if err != nil {
			return runtime.ExecSpec{}, fmt.Errorf("make session capability: %w", err)
		}
		spec.Env = append(spec.Env, "LAZARET_CAPABILITY="+capability)
	}
	return spec, nil
}

// sessionVariable says whether a client may set name for its session: what the
// terminal is and speaks, and nothing else of the host's environment.
func sessionVariable(name string) bool {
	switch name {
	case "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR", "LANG", "TZ":
		return true
	}
	return strings.HasPrefix(name, "LC_") && len(name) > len("LC_")
}

// Exec implements session.Host.
func (m *member) Exec(ctx context.Context, spec runtime.ExecSpec) (runtime.Process, error) {
	return m.server.cfg.Sandbox.Exec(ctx, spec)
}

// Decide implements session.Host.
func (m *member) Decide(d escalate.SignedDecision) error {
	if m.server.cfg.Desk == nil {
		return fmt.Errorf("escalation is off for this profile")
	}
	return m.server.cfg.Desk.Decide(m.id, d)
}

// Changed implements session.Host.
func (m *member) Changed(state session.State) {
	m.mu.Lock()
	m.state = state
	m.mu.Unlock()
	m.server.pushStatus()
}

// Pending implements Sink.
func (m *member) Pending(p escalate.Pending) {
	m.mu.Lock()
	m.pending[p.Request.ID] = struct{}{}
	m.mu.Unlock()
	m.session.Send(wire.Pending{Pending: p})
	m.server.pushStatus()
}

// Resolved implements Sink.
func (m *member) Resolved(id domain.RequestID, outcome escalate.Outcome, detail string) {
	m.mu.Lock()
	delete(m.pending, id)
	m.mu.Unlock()
	m.session.Send(wire.Resolved{Request: id, Outcome: outcome, Detail: strings.ToValidUTF8(detail, "\uFFFD")})
	m.server.pushStatus()
}

// AbortSession implements Sink.
func (m *member) AbortSession(reason string) {
	m.session.Send(wire.Notice{Level: wire.LevelWarning, Text: reason})
	m.session.End()
}

func (m *member) status() wire.SessionStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := wire.SessionStatus{
		Session: m.id, Name: m.state.Name, Argv: m.state.Argv, TTY: m.state.TTY,
		Pending: uint32(len(m.pending)),
	}
	if !m.state.Started.IsZero() {
		st.StartedUnix = m.state.Started.Unix()
	}
	return st
}
