package server

import (
	"os"
	"slices"
	"strings"
	"time"

	"lazaret.dev/lazaret/coordinator/lifecycle"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/runtime"
)

// status is the Domain as it is now.
func (s *Server) status() wire.Status {
	p := s.cfg.Plan
	inForce := s.cfg.Sandbox.Status()
	st := wire.Status{
		Domain: p.Domain, Generation: s.cfg.Generation,
		Profile: p.Profile, Workspace: p.Workspace, Mode: string(p.Spec.IDs.Mode),
		StartedUnix: s.started.Unix(),
		NetworkUp:   inForce.NetworkUp, NetworkReason: inForce.NetworkReason,
		Policy: p.Policy, Limits: inForce.LimitsInForce,
		Lower: p.LowerID, Log: s.cfg.LogPath, CoordinatorID: os.Getpid(),
	}
	for _, a := range p.Spec.Anchors {
		st.Anchors = append(st.Anchors, a.Path)
	}
	for _, m := range s.sortedMembers() {
		sess := m.status()
		st.Pending += sess.Pending
		st.Sessions = append(st.Sessions, sess)
	}
	return st
}

func (s *Server) sortedMembers() []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*member, 0, len(s.members))
	for _, id := range s.state.Sessions {
		if m, ok := s.members[id]; ok {
			out = append(out, m)
		}
	}
	return slices.Clip(out)
}

// pushStatus sends the current status to every session. Sessions keep only the
// latest, so one that does not read costs nothing.
func (s *Server) pushStatus() {
	st := s.status()
	for _, m := range s.sortedMembers() {
		m.session.Send(st)
	}
}

func (s *Server) notify(level wire.Level, text string) {
	for _, m := range s.sortedMembers() {
		m.session.Send(wire.Notice{Level: level, Text: text})
	}
}

// changer is a sandbox that says when its Status changed. Without it the network
// is looked at now and then.
type changer interface{ Changed() <-chan struct{} }

const networkLook = 2 * time.Second

// watchSandbox waits for the end of the sandbox and for changes of its network.
func (s *Server) watchSandbox() {
	var changed <-chan struct{}
	var tick <-chan time.Time
	if c, ok := s.cfg.Sandbox.(changer); ok {
		changed = c.Changed()
	} else {
		ticker := time.NewTicker(networkLook)
		defer ticker.Stop()
		tick = ticker.C
	}
	network := s.launched
	for {
		now := s.cfg.Sandbox.Status()
		if now.NetworkUp != network.NetworkUp || now.NetworkReason != network.NetworkReason {
			s.networkChanged(network, now)
			network = now
		}
		select {
		case <-s.cfg.Sandbox.Done():
			s.step(lifecycle.SandboxEnded{Reason: s.whyEnded()})
			return
		case <-changed:
		case <-tick:
		}
	}
}

func (s *Server) networkChanged(before, now runtime.Status) {
	if before.NetworkUp && !now.NetworkUp {
		s.cfg.Log.Error("network lost", "reason", now.NetworkReason)
		s.notify(wire.LevelError, "the sandbox lost its network: "+now.NetworkReason)
	}
	s.pushStatus()
}

func (s *Server) whyEnded() string {
	reason := "the sandbox ended"
	if err := s.cfg.Sandbox.Err(); err != nil {
		reason = strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	s.cfg.Log.Info("sandbox ended", "reason", reason)
	return reason
}
