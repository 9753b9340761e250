package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/lifecycle"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// accept is the accept loop; it ends when the listener is closed.
func (s *Server) accept() {
	for {
		conn, err := s.cfg.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.cfg.Log.Error("accept", "err", err)
				s.step(lifecycle.Shutdown{})
			}
			return
		}
		select {
		case s.slots <- struct{}{}:
			s.handlers.Go(func() {
				defer func() { <-s.slots }()
				s.Serve(conn)
			})
		default:
			s.refuse(conn, wire.Refused{Code: wire.CodeTooMany, Message: "the coordinator has too many connections"})
		}
	}
}

// Serve serves one connection until it ends.
func (s *Server) Serve(conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(s.stopping, func() { conn.Close() })
	defer stop()
	if refused := s.checkPeer(conn); refused != nil {
		s.refuse(conn, *refused)
		return
	}
	conn.SetDeadline(time.Now().Add(greetTimeout))
	first, err := wire.Read(conn)
	if err != nil {
		s.cfg.Log.Warn("bad greeting", "err", err)
		s.refuse(conn, wire.Refused{Code: wire.CodeProtocol, Message: "the greeting could not be read: " + err.Error(),
			Fix: "use the same lazaret for every client of a Domain"})
		return
	}
	hello, ok := first.(wire.Hello)
	if !ok {
		s.refuse(conn, wire.Refused{Code: wire.CodeProtocol, Message: "the first message is not Hello"})
		return
	}
	if refused := s.checkHello(hello); refused != nil {
		s.refuse(conn, *refused)
		return
	}
	if hello.Purpose == wire.PurposeQuery {
		s.query(conn)
		return
	}
	s.session(conn, hello)
}

// refuse says why and closes. It reads what the client sent meanwhile only in so
// far as the kernel buffered it: the refusal must not wait for the client.
func (s *Server) refuse(conn net.Conn, refused wire.Refused) {
	s.cfg.Log.Info("refused", "code", refused.Code, "message", refused.Message)
	conn.SetDeadline(time.Now().Add(greetTimeout))
	if err := wire.Write(conn, refused); err != nil {
		s.cfg.Log.Debug("send refusal", "err", err)
	}
	conn.Close()
}

// checkPeer admits only the user the coordinator runs as.
func (s *Server) checkPeer(conn net.Conn) *wire.Refused {
	uid, err := s.cfg.PeerUID(conn)
	if err == nil && uid == s.cfg.UID {
		return nil
	}
	s.cfg.Log.Warn("connection of another user", "uid", uid, "err", err)
	return &wire.Refused{Code: wire.CodePeer, Message: "this coordinator serves another user"}
}

// PeerUID asks the kernel who connected (SO_PEERCRED, unix(7)).
func PeerUID(conn net.Conn) (int, error) {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, fmt.Errorf("%T has no peer credentials", conn)
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return -1, err
	}
	if credErr != nil {
		return -1, credErr
	}
	return int(cred.Uid), nil
}

// checkHello compares what the client would start with what runs.
func (s *Server) checkHello(h wire.Hello) *wire.Refused {
	switch {
	case h.Version != wire.Version:
		return &wire.Refused{Code: wire.CodeVersion,
			Message: fmt.Sprintf("the client speaks version %d of the protocol, the running coordinator %d", h.Version, wire.Version),
			Fix:     "end the Domain's sessions, or use the lazaret that started them"}
	case h.Domain != s.cfg.Plan.Domain:
		return &wire.Refused{Code: wire.CodeWrongDomain,
			Message: fmt.Sprintf("this coordinator serves Domain %s, not %s", s.cfg.Plan.Domain, h.Domain)}
	case h.Purpose == wire.PurposeQuery:
		return nil
	case h.Purpose != wire.PurposeSession:
		return &wire.Refused{Code: wire.CodeProtocol, Message: "unknown purpose of a connection"}
	case len(h.Anchor) != anchorBytes:
		return &wire.Refused{Code: wire.CodeProtocol, Message: "the Session Anchor is not an Ed25519 public key"}
	case !bytes.Equal(h.Fingerprint, s.cfg.Plan.Fingerprint):
		return &wire.Refused{Code: wire.CodeFingerprint,
			Message: "the Domain runs with another configuration: " + difference(s.cfg.Plan.Facts, h.Facts),
			Fix:     "end the Domain's sessions first, or start with the configuration it runs with"}
	}
	if _, err := domain.ParseClientID(string(h.Client)); err != nil {
		return &wire.Refused{Code: wire.CodeProtocol, Message: "client id: " + err.Error()}
	}
	return nil
}

const anchorBytes = 32

// difference names the facts that differ, the running Domain's value first.
func difference(running, asked []wire.Fact) string {
	var out []string
	theirs := map[string]string{}
	for _, f := range asked {
		theirs[f.Name] = f.Value
	}
	for _, f := range running {
		value, ok := theirs[f.Name]
		delete(theirs, f.Name)
		if !ok {
			value = "unset"
		}
		if value != f.Value {
			out = append(out, fmt.Sprintf("%s is %s, you ask for %s", f.Name, shown(f.Value), shown(value)))
		}
	}
	for _, f := range asked {
		if value, ok := theirs[f.Name]; ok {
			out = append(out, fmt.Sprintf("%s is unset, you ask for %s", f.Name, shown(value)))
		}
	}
	if len(out) == 0 {
		return "it was started by another version of lazaret"
	}
	return strings.Join(out, "; ")
}

// shownBytes keeps one long list from hiding the rest of a refusal.
const shownBytes = 200

func shown(value string) string {
	if value == "" {
		return "empty"
	}
	if len(value) > shownBytes {
		value = strings.ToValidUTF8(value[:shownBytes], "") + "…"
	}
	return value
}

func (s *Server) query(conn net.Conn) {
	if err := wire.Write(conn, s.welcome("")); err != nil {
		return
	}
	if m, err := wire.Read(conn); err != nil || m.Kind() != wire.KindQuery {
		return
	}
	if err := wire.Write(conn, s.status()); err != nil {
		s.cfg.Log.Debug("answer query", "err", err)
	}
}

func (s *Server) welcome(id domain.SessionID) wire.Welcome {
	return wire.Welcome{
		Version: wire.Version, Generation: s.cfg.Generation, Session: id,
		Profile: s.cfg.Plan.Profile, Workspace: s.cfg.Plan.Workspace,
	}
}

// session serves one Client Session from its greeting to its end.
func (s *Server) session(conn net.Conn, hello wire.Hello) {
	m := s.newMember(conn)
	if why, ok := s.admit(m); !ok {
		s.refuse(conn, refusedSession(why))
		return
	}
	defer s.remove(m)
	if err := wire.Write(conn, s.welcome(m.id)); err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	s.cfg.Log.Info("session", "session", m.id, "client", hello.Client)
	if s.cfg.Desk != nil {
		s.cfg.Desk.AddSession(m.id, hello.Anchor, m)
		defer s.cfg.Desk.RemoveSession(m.id)
	}
	s.pushStatus()
	m.session.Run(s.stopping)
	s.takeCredential()
	s.cfg.Log.Info("session gone", "session", m.id)
}

func refusedSession(why lifecycle.Refusal) wire.Refused {
	if why == lifecycle.TooMany {
		return wire.Refused{Code: wire.CodeTooMany,
			Message: fmt.Sprintf("the Domain has %d sessions already", lifecycle.MaxSessions),
			Fix:     "end one of its sessions"}
	}
	return wire.Refused{Code: wire.CodeStopping, Message: "the Domain is being torn down", Fix: "try again"}
}
