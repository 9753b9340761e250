package client

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// credential is what lets this process ask, and believe an answer.
type credential struct {
	session     domain.SessionID
	capability  []byte
	sandbox     seal.SandboxKey
	coordinator seal.CoordinatorPublic
}

// errOff: the host gave no key or no capability, which it does when its
// configuration says that this profile must not ask.
var errOff = errors.New("escalation is off for this profile")

// credential reads and checks the credential directory and the session's
// variables, so that a mistake is said here and not by silence.
func (c *Client) credential() (credential, error) {
	var cr credential
	dir := filepath.Join(c.Base, wire.CredentialDir)
	seed, err := readSmall(filepath.Join(dir, wire.SandboxKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return cr, fmt.Errorf("%w (there is no %s)", errOff, filepath.Join(dir, wire.SandboxKeyFile))
	}
	if err != nil {
		return cr, err
	}
	public, err := readSmall(filepath.Join(dir, wire.CoordinatorFile))
	if err != nil {
		return cr, err
	}
	sealed, err := readSmall(filepath.Join(dir, wire.ManifestFile))
	if err != nil {
		return cr, err
	}
	if cr.sandbox, err = seal.SandboxKeyFrom(seed); err != nil {
		return cr, fmt.Errorf("read %s: %w", wire.SandboxKeyFile, err)
	}
	if cr.coordinator, err = seal.CoordinatorPublicFrom(public); err != nil {
		return cr, fmt.Errorf("read %s: %w", wire.CoordinatorFile, err)
	}
	manifest, err := wire.OpenManifest(cr.coordinator, sealed)
	if err != nil {
		return cr, fmt.Errorf("read %s: %w", wire.ManifestFile, err)
	}
	if string(manifest.Sandbox) != string(cr.sandbox.Public().Bytes()) || string(manifest.Coordinator) != string(public) {
		return cr, fmt.Errorf("read %s: it binds other keys", wire.ManifestFile)
	}
	return cr, c.sessionInto(&cr)
}

func (c *Client) sessionInto(cr *credential) (err error) {
	switch {
	case c.Session == "":
		return fmt.Errorf("this process belongs to no session: %s is not in its environment", wire.SessionVariable)
	case c.Capability == "":
		return fmt.Errorf("%w (%s is not in the environment)", errOff, wire.CapabilityVariable)
	}
	if cr.session, err = domain.ParseSessionID(c.Session); err != nil {
		return fmt.Errorf("%s: %w", wire.SessionVariable, err)
	}
	if cr.capability, err = base64.RawURLEncoding.DecodeString(c.Capability); err != nil {
		return fmt.Errorf("%s: %w", wire.CapabilityVariable, err)
	}
	return nil
}

// readSmall reads a file of at most one record.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, wire.MaxRecord+1))
	if err != nil {
		return nil, err
	}
	if len(b) > wire.MaxRecord {
		return nil, fmt.Errorf("read %s: longer than %d bytes", name, wire.MaxRecord)
	}
	return b, nil
}
