package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

const (
	testDomain  = domain.ID("646eb596abfb")
	testSession = domain.SessionID("00112233445566778899aabbccddeeff")
	testRequest = domain.RequestID("ffeeddccbbaa99887766554433221100")
)

var testAnchor = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))

func authority(t *testing.T, g domain.Generation) *sign.Authority {
	t.Helper()
	a, err := sign.NewAuthority(testDomain, g)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sandboxOf takes the key as the sandbox would find it.
func sandboxOf(t *testing.T, a *sign.Authority) seal.SandboxKey {
	t.Helper()
	for _, f := range a.Secrets() {
		if f.Path == "/run/lazaret/credential/sandbox.key" {
			k, err := seal.SandboxKeyFrom(f.Data)
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
	}
	t.Fatal("no sandbox key among the secrets")
	return seal.SandboxKey{}
}

func capability(t *testing.T, a *sign.Authority, s domain.SessionID) []byte {
	t.Helper()
	text, err := a.Capability(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSecretsAreTheCredentialDirectory(t *testing.T) {
	t.Parallel()
	a := authority(t, "0123456789abcdef")
	var names []string
	for _, f := range a.Secrets() {
		names = append(names, strings.TrimPrefix(f.Path, "/run/lazaret/credential/"))
		if f.Mode != 0o444 || len(f.Data) == 0 {
			t.Errorf("%s: mode %o, %d bytes", f.Path, f.Mode, len(f.Data))
		}
	}
	if got := strings.Join(names, " "); got != "sandbox.key coordinator.pub manifest" {
		t.Errorf("secrets are %s", got)
	}
	a.Forget()
	if len(a.Secrets()) != 0 {
		t.Error("Forget kept the secrets")
	}
}

func TestOpenRequestBindsCapabilityAndGeneration(t *testing.T) {
	t.Parallel()
	a := authority(t, "0123456789abcdef")
	foreign := authority(t, "fedcba9876543210")
	request := func(capability []byte, session domain.SessionID) []byte {
		b, err := wire.SealSandbox(sandboxOf(t, a), seal.Request, wire.Request{
			ID: testRequest, Session: session, Argv: []string{"true"}, Dir: "/workspace", Capability: capability,
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	own := capability(t, a, testSession)
	if _, err := a.OpenRequest(request(own, testSession)); err != nil {
		t.Fatalf("harmless twin: %v", err)
	}
	other := domain.SessionID(strings.Repeat("a", 32))
	for name, b := range map[string][]byte{
		"another session's name": request(own, other),
		"another session's":      request(capability(t, a, other), testSession),
		"another generation's":   request(capability(t, foreign, testSession), testSession),
		"none":                   request(nil, testSession),
		"garbage":                request(bytes.Repeat([]byte{9}, 200), testSession),
	} {
		if _, err := a.OpenRequest(b); !errors.Is(err, sign.ErrCapability) {
			t.Errorf("%s: %v, want ErrCapability", name, err)
		}
	}
	if _, err := foreign.OpenRequest(request(own, testSession)); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("another generation's sandbox key: %v, want ErrSignature", err)
	}
}

func TestDecisionRoundTrip(t *testing.T) {
	t.Parallel()
	want := escalate.Decision{Request: testRequest, Session: testSession, Digest: []byte{1, 2}, Verdict: escalate.VerdictApprove, Argv: []string{"ls"}}
	s, err := sign.Decision(testAnchor, want)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "a6017820666665656464636362626161393938383737363635353434333332323131303002782030303131323233333434353536363737383839396161626263636464656566660342010204010581626c730660" +
		" a430b51be87e894252d6a41ac6ee377016143c3a8d8c99be5b0d951a49e0bb79dd03bccebf87da1fb9ef29c6eb15c4db6b194836d2e343a778e6b632377b2508"
	if got := hex.EncodeToString(s.Payload) + " " + hex.EncodeToString(s.Signature); got != golden {
		t.Errorf("signed decision is\n%s, want\n%s", got, golden)
	}
	public := testAnchor.Public().(ed25519.PublicKey)
	got, err := sign.VerifyDecision(public, s)
	if err != nil || got.Verdict != want.Verdict || got.Request != want.Request || got.Argv[0] != "ls" {
		t.Fatalf("VerifyDecision = %+v, %v", got, err)
	}
	s.Payload = append(bytes.Clone(s.Payload[:len(s.Payload)-1]), 0x61)
	if _, err := sign.VerifyDecision(public, s); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("tampered: %v, want ErrSignature", err)
	}
}

func TestVerifyDecisionRefusesNonsense(t *testing.T) {
	t.Parallel()
	public := testAnchor.Public().(ed25519.PublicKey)
	for name, d := range map[string]escalate.Decision{
		"no verdict":            {Request: testRequest},
		"unknown verdict":       {Request: testRequest, Verdict: 9},
		"a denial with command": {Request: testRequest, Verdict: escalate.VerdictDeny, Argv: []string{"ls"}},
	} {
		s, err := sign.Decision(testAnchor, d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sign.VerifyDecision(public, s); !errors.Is(err, sign.ErrDecision) {
			t.Errorf("%s: %v, want ErrDecision", name, err)
		}
	}
	deny, err := sign.Decision(testAnchor, escalate.Decision{Request: testRequest, Verdict: escalate.VerdictDeny, Reason: "no"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sign.VerifyDecision(public, deny); err != nil {
		t.Errorf("harmless twin: %v", err)
	}
	if _, err := sign.VerifyDecision(nil, deny); err == nil {
		t.Error("a session without an anchor verified a decision")
	}
}

func TestDigestBindsEveryField(t *testing.T) {
	t.Parallel()
	base := escalate.Pending{Request: escalate.Request{ID: testRequest, Session: testSession, Argv: []string{"ls"}, Dir: "."}, Program: "/usr/bin/ls"}
	digest := func(change func(*escalate.Pending)) string {
		p := base
		change(&p)
		d, err := sign.Digest(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(d)
	}
	want := digest(func(*escalate.Pending) {})
	if digest(func(p *escalate.Pending) { p.Digest = []byte{1} }) != want {
		t.Error("the digest depends on itself")
	}
	for name, change := range map[string]func(*escalate.Pending){
		"argv":     func(p *escalate.Pending) { p.Request.Argv = []string{"ls", ""} },
		"dir":      func(p *escalate.Pending) { p.Request.Dir = "a" },
		"why":      func(p *escalate.Pending) { p.Request.Why = "x" },
		"program":  func(p *escalate.Pending) { p.Program = "/usr/bin/rm" },
		"hostdir":  func(p *escalate.Pending) { p.HostDir = "/" },
		"user":     func(p *escalate.Pending) { p.HostUser = "root" },
		"warnings": func(p *escalate.Pending) { p.Warnings = []string{"x"} },
		"files":    func(p *escalate.Pending) { p.Files = []escalate.File{{Path: "x"}} },
		"expiry":   func(p *escalate.Pending) { p.ExpiresUnix = 1 },
	} {
		if digest(change) == want {
			t.Errorf("%s is not bound", name)
		}
	}
}
