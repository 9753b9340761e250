package sign

import (
	"encoding/base64"
	"fmt"
	"path"

	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// credentialMode lets every user inside read the files: the sandbox is one trust
// domain, and an agent that is not guest root must be able to ask.
const credentialMode = 0o444

// Authority holds a generation's keys: the coordinator's own, and the sandbox's
// until it has been handed over. Its methods may overlap.
type Authority struct {
	domain      domain.ID
	generation  domain.Generation
	coordinator seal.CoordinatorKey
	sandbox     seal.SandboxPublic
	secrets     []runtime.GuestFile
}

// NewAuthority draws the keys of a generation.
func NewAuthority(id domain.ID, generation domain.Generation) (*Authority, error) {
	coordinator, err := seal.NewCoordinatorKey()
	if err != nil {
		return nil, err
	}
	sandbox, err := seal.NewSandboxKey()
	if err != nil {
		return nil, err
	}
	return newAuthority(id, generation, coordinator, sandbox)
}

func newAuthority(id domain.ID, generation domain.Generation, coordinator seal.CoordinatorKey, sandbox seal.SandboxKey) (*Authority, error) {
	a := &Authority{domain: id, generation: generation, coordinator: coordinator, sandbox: sandbox.Public()}
	manifest, err := wire.SealCoordinator(coordinator, seal.Manifest, wire.Manifest{
		Domain: id, Generation: generation, Coordinator: coordinator.Public().Bytes(), Sandbox: a.sandbox.Bytes(),
	})
	if err != nil {
		return nil, fmt.Errorf("sign the trust manifest of %q: %w", id, err)
	}
	a.secrets = []runtime.GuestFile{
		credential(wire.SandboxKeyFile, sandbox.Seed()),
		credential(wire.CoordinatorFile, coordinator.Public().Bytes()),
		credential(wire.ManifestFile, manifest),
	}
	return a, nil
}

func credential(name string, data []byte) runtime.GuestFile {
	return runtime.GuestFile{Path: path.Join(wire.GuestDir, wire.CredentialDir, name), Mode: credentialMode, Data: data}
}

// Secrets returns the files of /run/lazaret/credential. They hold the sandbox's
// private key; call Forget once the sandbox has them.
func (a *Authority) Secrets() []runtime.GuestFile { return a.secrets }

// Forget drops the sandbox's private key; only its public half is kept. It must
// not overlap Secrets.
func (a *Authority) Forget() {
	for _, f := range a.secrets {
		clear(f.Data)
	}
	a.secrets = nil
}

// Sandbox verifies what the sandbox signs.
func (a *Authority) Sandbox() seal.SandboxPublic { return a.sandbox }

// Coordinator verifies what this authority signs.
func (a *Authority) Coordinator() seal.CoordinatorPublic { return a.coordinator.Public() }

// Capability returns the Session Request Capability of a session, as the value
// of LAZARET_CAPABILITY in its command's environment.
func (a *Authority) Capability(session domain.SessionID) (string, error) {
	b, err := wire.SealCoordinator(a.coordinator, seal.Capability, wire.Capability{
		Session: session, Domain: a.domain, Generation: a.generation, Sandbox: a.sandbox.Bytes(),
	})
	if err != nil {
		return "", fmt.Errorf("sign the capability of session %q: %w", session, err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Seal signs what the coordinator tells the sandbox.
func (a *Authority) Seal(r seal.CoordinatorRecord, v any) ([]byte, error) {
	return wire.SealCoordinator(a.coordinator, r, v)
}

// OpenRequest verifies a request and its capability, which must be this
// generation's and the named session's. When only the capability is wrong, the
// request is returned beside ErrCapability, so that its asker can be told.
func (a *Authority) OpenRequest(b []byte) (wire.Request, error) {
	r, err := wire.OpenRequest(a.sandbox, b)
	if err != nil {
		return wire.Request{}, err
	}
	c, err := wire.OpenCapability(a.coordinator.Public(), r.Capability)
	if err != nil {
		return r, fmt.Errorf("request %q: %w: %w", r.ID, ErrCapability, err)
	}
	if c.Session != r.Session || c.Domain != a.domain || c.Generation != a.generation || string(c.Sandbox) != string(a.sandbox.Bytes()) {
		return r, fmt.Errorf("request %q: %w", r.ID, ErrCapability)
	}
	return r, nil
}
