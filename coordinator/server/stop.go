package server

import (
	"context"
	"fmt"
	"time"

	"lazaret.dev/lazaret/coordinator/lifecycle"
)

const (
	// carryTimeout bounds taking the login out of the sandbox.
	carryTimeout = 5 * time.Second
	// stopTimeout bounds the orderly end of a sandbox; after it the runtime has
	// killed everything.
	stopTimeout = 30 * time.Second
)

// eventName is how the log names a lifecycle event.
func eventName(e lifecycle.Event) string { return fmt.Sprintf("%T", e) }

// stop ends the sandbox once no session is left, and writes the proof.
func (s *Server) stop() {
	if s.cfg.Desk != nil {
		s.cfg.Desk.Close()
	}
	s.install.close()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	proof, err := s.cfg.Sandbox.Stop(ctx)
	log := s.cfg.Log.With("processes", proof.Processes, "mounts", proof.Mounts, "files", proof.Files)
	switch {
	case err != nil:
		log.Error("proof of teardown", "err", err, "left", proof.Detail)
	case proof.Processes+proof.Mounts+proof.Files > 0:
		log.Error("proof of teardown: something is left", "left", proof.Detail)
	default:
		log.Info("proof of teardown: nothing is left")
	}
	s.step(lifecycle.Stopped{})
}

// takeCredential saves the agent's login after a session: it may have logged in,
// or refreshed its token. It runs before the session counts as gone, so always
// before the sandbox is stopped.
func (s *Server) takeCredential() {
	if s.cfg.Carrier == nil {
		return
	}
	select {
	case <-s.cfg.Sandbox.Done():
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), carryTimeout)
	defer cancel()
	if err := s.cfg.Carrier.Take(ctx, s.cfg.Sandbox); err != nil {
		s.cfg.Log.Warn("take login out of the sandbox", "err", err)
	}
}
