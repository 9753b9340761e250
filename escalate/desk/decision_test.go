package desk_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/client"
	"lazaret.dev/lazaret/escalate/desk"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/internal/domain"
)

func TestApproved(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	a := g.ask(t, "--why", "to know", "--", "sh", "-c", "echo out; echo err >&2; pwd; exit 7")
	p := g.approve(t)
	if p.Profile != "shell" || p.Request.Why != "to know" || p.Request.Dir != "." || p.HostDir != h.workspace ||
		!strings.HasPrefix(p.Program, "/") || p.HostUser == "" || p.ExpiresUnix-p.ReceivedUnix != 60 {
		t.Errorf("shown: %+v", p)
	}
	if digest, err := sign.Digest(p); err != nil || !bytes.Equal(digest, p.Digest) {
		t.Errorf("the digest is not that of what is shown: %v", err)
	}
	stdout, stderr := a.wait(t, 7)
	if stdout != "out\n"+h.workspace+"\n" || stderr != "err\n" {
		t.Errorf("got %q and %q", stdout, stderr)
	}
	if r := g.expect(t, escalate.OutcomeRan); r.detail != "exit status 7" {
		t.Errorf("resolved: %+v", r)
	}
	h.nothingLeft(t)
}

func TestSignalStatus(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	a := g.ask(t, "sh", "-c", "kill -9 $$")
	g.approve(t)
	a.wait(t, 137)
}

func TestDenied(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	mark := filepath.Join(h.workspace, "mark")
	a := g.ask(t, "touch", mark)
	p := receive(t, "the request", g.pending)
	d := g.decision(p, escalate.VerdictDeny)
	d.Reason = "not today"
	if err := g.decide(t, d); err != nil {
		t.Fatal(err)
	}
	if _, stderr := a.wait(t, client.ExitDenied); !strings.Contains(stderr, "not today") {
		t.Errorf("the asker reads %q", stderr)
	}
	g.expect(t, escalate.OutcomeDenied)
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Error("it ran all the same")
	}
	h.nothingLeft(t)
}

func TestEdited(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	a := g.ask(t, "echo", "asked")
	p := receive(t, "the request", g.pending)
	d := g.decision(p, escalate.VerdictApprove)
	d.Argv = []string{"no-such-program-\x00"}
	if err := g.decide(t, d); !errors.Is(err, desk.ErrBadDecision) {
		t.Errorf("an edit that cannot be run: %v", err)
	}
	d.Argv = []string{"echo", "edited it"}
	if err := g.decide(t, d); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := a.wait(t, 0)
	if stdout != "edited it\n" || !strings.Contains(stderr, "echo 'edited it'") {
		t.Errorf("got %q, told %q", stdout, stderr)
	}
}

func TestAborted(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	a := g.ask(t, "true")
	p := receive(t, "the request", g.pending)
	if err := g.decide(t, g.decision(p, escalate.VerdictAbort)); err != nil {
		t.Fatal(err)
	}
	a.wait(t, client.ExitDenied)
	receive(t, "the session's abortion", g.aborted)
}

func TestExpiredIsDenied(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	a := g.ask(t, "true")
	p := receive(t, "the request", g.pending)
	h.clock.advance(59 * time.Second)
	if len(h.Pending(g.id)) != 1 {
		t.Fatal("expired early")
	}
	h.clock.advance(time.Second)
	if _, stderr := a.wait(t, client.ExitNotRun); !strings.Contains(stderr, "in time") {
		t.Errorf("the asker reads %q", stderr)
	}
	g.expect(t, escalate.OutcomeExpired)
	if err := g.decide(t, g.decision(p, escalate.VerdictApprove)); !errors.Is(err, desk.ErrNotPending) {
		t.Errorf("a late approval: %v", err)
	}
}

func TestUnstartable(t *testing.T) {
	t.Parallel()
	g := open(t).session(t)
	a := g.ask(t, "no-such-program")
	if p := g.approve(t); p.Program != "" || p.ProgramError == "" {
		t.Errorf("shown: %+v", p)
	}
	if _, stderr := a.wait(t, client.ExitNotRun); !strings.Contains(stderr, "no-such-program") {
		t.Errorf("the asker reads %q", stderr)
	}
	g.expect(t, escalate.OutcomeFailed)
}

func TestDriftIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	script := filepath.Join(h.workspace, "deploy")
	write := func(text string) {
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho shown\n")
	a := g.ask(t, "./deploy")
	p := receive(t, "the request", g.pending)
	write("#!/bin/sh\necho other\n")
	if err := g.decide(t, g.decision(p, escalate.VerdictApprove)); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := a.wait(t, client.ExitNotRun)
	if stdout != "" || !strings.Contains(stderr, script) {
		t.Errorf("got %q, told %q", stdout, stderr)
	}
	twin := g.ask(t, "./deploy")
	g.approve(t)
	if stdout, _ := twin.wait(t, 0); stdout != "other\n" {
		t.Errorf("harmless twin: %q", stdout)
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	h := open(t, func(c *desk.Config) { c.Enabled = false })
	g := h.session(t)
	if _, stderr := g.ask(t, "true").wait(t, client.ExitNotRun); !strings.Contains(stderr, "off for this profile") {
		t.Errorf("the asker reads %q", stderr)
	}
	h.nothingLeft(t)
}

func TestRefusedBeforeItIsShown(t *testing.T) {
	t.Parallel()
	h := open(t)
	g := h.session(t)
	for want, args := range map[string][]string{
		"argument 1 has":        {"echo", strings.Repeat("x", escalate.MaxArgBytes+1)},
		"the justification has": {"--why", strings.Repeat("x", escalate.MaxWhyBytes+1), "true"},
	} {
		if _, stderr := g.ask(t, args...).wait(t, client.ExitNotRun); !strings.Contains(stderr, want) {
			t.Errorf("the asker reads %q, want %q", stderr, want)
		}
	}
	if len(g.pending) != 0 {
		t.Error("it was shown")
	}
}

func TestForeignDecisions(t *testing.T) {
	t.Parallel()
	h := open(t)
	g, other := h.session(t), h.session(t)
	a := g.ask(t, "echo", "ran")
	p := receive(t, "the request", g.pending)
	good := g.decision(p, escalate.VerdictApprove)
	signed := func(key ed25519.PrivateKey, d escalate.Decision) escalate.SignedDecision {
		s, err := sign.Decision(key, d)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	tampered := signed(g.key, good)
	tampered.Signature = bytes.Clone(tampered.Signature)
	tampered.Signature[0] ^= 1
	digest, session, unknown := good, good, good
	digest.Digest = append(bytes.Clone(p.Digest[1:]), 0)
	session.Session = other.id
	unknown.Request = domain.NewRequestID()
	for name, c := range map[string]struct {
		session domain.SessionID
		signed  escalate.SignedDecision
		want    error
	}{
		"tampered signature": {g.id, tampered, desk.ErrBadDecision},
		"no signature":       {g.id, escalate.SignedDecision{}, desk.ErrBadDecision},
		"another's anchor":   {g.id, signed(other.key, good), desk.ErrBadDecision},
		"another digest":     {g.id, signed(g.key, digest), desk.ErrBadDecision},
		"another session":    {g.id, signed(g.key, session), desk.ErrBadDecision},
		"unknown request":    {g.id, signed(g.key, unknown), desk.ErrNotPending},
		"by another session": {other.id, signed(other.key, session), desk.ErrNotPending},
		"by no session":      {domain.NewSessionID(), signed(g.key, good), desk.ErrNotPending},
	} {
		if err := h.Decide(c.session, c.signed); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if len(h.Pending(g.id)) != 1 {
		t.Fatal("a foreign decision ended the waiting")
	}
	once := signed(g.key, good)
	if err := h.Decide(g.id, once); err != nil {
		t.Fatalf("harmless twin: %v", err)
	}
	if err := h.Decide(g.id, once); !errors.Is(err, desk.ErrNotPending) {
		t.Errorf("the same decision again: %v", err)
	}
	if stdout, _ := a.wait(t, 0); stdout != "ran\n" {
		t.Errorf("got %q", stdout)
	}
}
