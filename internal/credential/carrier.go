package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"lazaret.dev/lazaret/internal/safefs"
)

// Files is the sandbox as seen from here; runtime.Sandbox satisfies it. An absent
// file is an error that matches fs.ErrNotExist. WriteFile replaces by rename.
type Files interface {
	ReadFile(ctx context.Context, guestPath string, limit int) ([]byte, error)
	WriteFile(ctx context.Context, guestPath string, mode uint32, data []byte) error
}

const (
	fileName   = "credential"
	recordName = "credential.sha256"
	fileMode   = 0o600
)

// Carrier carries the login of one Domain. Its methods may overlap with each
// other and with those of another Domain's Carrier for the same profile: every
// copy is replaced atomically, and the last one taken stays.
//
//	digest of the Domain's file        launch (Bring)          session end (Take)
//	no file                            profile → Domain        –
//	as last carried                    profile → Domain        –
//	neither as last carried nor empty  Domain → profile        Domain → profile
type Carrier struct {
	guest  string // path inside
	host   string // the profile's copy
	record string // digest of what this Domain last gave or got

	mu sync.Mutex // one carry at a time for this Domain
}

// New returns the carrier of the Domain whose Domain Root is domainDir.
// profileDir is <data_root>/<profile>. An empty guestPath carries nothing.
func New(profileDir, domainDir, guestPath string) *Carrier {
	return &Carrier{
		guest:  guestPath,
		host:   filepath.Join(profileDir, fileName),
		record: filepath.Join(domainDir, recordName),
	}
}

// Bring makes the Domain's login the newer of the two, before its first session.
// An error leaves both copies as they were; the launch may go on without a login.
func (c *Carrier) Bring(ctx context.Context, sandbox Files) error {
	if c.guest == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inside, err := c.inside(ctx, sandbox)
	if err != nil {
		return err
	}
	last, err := readRecord(c.record)
	if err != nil {
		return err
	}
	if inside != nil && digest(inside) != last {
		return c.keep(inside)
	}
	saved, err := readHost(c.host)
	if err != nil || saved == nil {
		return err
	}
	if inside == nil || digest(saved) != digest(inside) {
		if err := sandbox.WriteFile(ctx, c.guest, fileMode, saved); err != nil {
			return fmt.Errorf("write login %q in the sandbox: %w", c.guest, err)
		}
	}
	return c.remember(digest(saved))
}

// Take saves the Domain's login to the profile when the agent has changed it, and
// reports whether it did. It reads by path, so a login replaced by rename is seen.
func (c *Carrier) Take(ctx context.Context, sandbox Files) (taken bool, err error) {
	if c.guest == "" {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inside, err := c.inside(ctx, sandbox)
	if err != nil || inside == nil {
		return false, err
	}
	last, err := readRecord(c.record)
	if err != nil || digest(inside) == last {
		return false, err
	}
	return true, c.keep(inside)
}

// inside returns the Domain's login, nil for none.
func (c *Carrier) inside(ctx context.Context, sandbox Files) ([]byte, error) {
	// One byte more than allowed, so that too much is seen rather than cut off.
	data, err := sandbox.ReadFile(ctx, c.guest, MaxBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read login %q in the sandbox: %w", c.guest, err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	if err := vet(c.guest, data); err != nil {
		return nil, fmt.Errorf("login %q in the sandbox: %w", c.guest, err)
	}
	return data, nil
}

// keep makes data the profile's login. The profile is written before the record:
// a crash in between repeats this, and loses nothing.
func (c *Carrier) keep(data []byte) error {
	if err := safefs.WritePrivate(c.host, data); err != nil {
		return fmt.Errorf("save login %q: %w", c.host, err)
	}
	return c.remember(digest(data))
}

func (c *Carrier) remember(sum string) error {
	if err := safefs.WritePrivate(c.record, []byte(sum+"\n")); err != nil {
		return fmt.Errorf("record login %q: %w", c.record, err)
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
