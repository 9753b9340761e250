package root

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// identity is what a Domain Root belongs to.
type identity struct {
	Version   uint32 `cbor:"1,keyasint"`
	Digest    []byte `cbor:"2,keyasint"`
	Profile   string `cbor:"3,keyasint"`
	Workspace string `cbor:"4,keyasint"`
}

const (
	identityVersion = 1
	maxRecord       = 64 << 10
)

// Endpoint says where a live coordinator can be reached.
type Endpoint struct {
	Generation domain.Generation `cbor:"1,keyasint"`
	Socket     string            `cbor:"2,keyasint"`
}

// LockPath is the lock a coordinator holds for its whole life.
func LockPath(root string) string { return filepath.Join(root, "domain.lock") }

// StartLockPath is the lock a starting client holds for as long as it starts one.
func StartLockPath(root string) string { return filepath.Join(root, "start.lock") }

// AcceptLockPath is the lock held while something is moved out of Domain storage.
func AcceptLockPath(root string) string { return filepath.Join(root, "accept.lock") }

func endpointPath(root string) string { return filepath.Join(root, "endpoint") }

// Open makes p's Domain Root if need be and verifies that it is p's. Every
// directory on the way down must be the user's own.
func Open(p plan.Plan) (string, error) {
	root := p.Root()
	if err := makePrivate(root); err != nil {
		return "", unavailable(p, err)
	}
	for _, sub := range []string{"log", "gen", "anchors"} {
		if err := makePrivate(filepath.Join(root, sub)); err != nil {
			return "", unavailable(p, err)
		}
	}
	for _, a := range p.Spec.Anchors {
		// The runtime makes the two directories themselves, like what they cover.
		if err := makePrivate(filepath.Dir(a.Upper), anchorOwners(p.Spec.IDs)...); err != nil {
			return "", unavailable(p, err)
		}
	}
	if err := verify(root, p); err != nil {
		return "", err
	}
	return root, nil
}

func unavailable(p plan.Plan, err error) error {
	return &fault.Error{Kind: fault.Workspace, Err: err,
		Message: fmt.Sprintf("the Domain Root of %s for %s cannot be used", p.Profile, p.Workspace),
		Fix:     "look at " + p.Root() + " and its owner and mode; storage.data_root says where it lies"}
}

// anchorOwners is who may own a State Anchor's directory besides the user: started
// by root, the runtime has given it to the sandbox's unprivileged range.
func anchorOwners(ids runtime.IDs) []uint32 {
	if ids.Mode != runtime.ModeRoot {
		return nil
	}
	return []uint32{ids.UIDs.Host}
}

// makePrivate makes dir with its parents, and refuses one that is not ours alone,
// or one of others'.
func makePrivate(dir string, others ...uint32) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	case !ok || int(st.Uid) != os.Getuid() && !slices.Contains(others, st.Uid):
		return fmt.Errorf("%q belongs to another user", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%q can be written by others (mode %04o)", dir, info.Mode().Perm())
	}
	return nil
}

// verify compares the recorded identity with p's, and records it in a new root.
func verify(root string, p plan.Plan) error {
	path := filepath.Join(root, "identity")
	want := identity{Version: identityVersion, Digest: p.Digest, Profile: p.Profile, Workspace: p.Workspace}
	have, err := readIdentity(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writeRecord(path, want)
	}
	if err != nil {
		return unavailable(p, err)
	}
	if have.Version != identityVersion || !bytes.Equal(have.Digest, want.Digest) {
		return &fault.Error{Kind: fault.Workspace,
			Message: fmt.Sprintf("Domain Root %s belongs to %s in %s, not to %s in %s", root, have.Profile, have.Workspace, p.Profile, p.Workspace),
			Fix:     "give one of the two profiles another name: their short identifiers collide"}
	}
	return nil
}

func readIdentity(path string) (identity, error) {
	var id identity
	err := readRecord(path, &id)
	return id, err
}

// ErrDamaged is a record that cannot be read back, as a disk may leave after the
// machine lost its power.
var ErrDamaged = errors.New("the record is damaged")

// ReadEndpoint returns where root's coordinator says it can be reached; fs.ErrNotExist
// when there is none.
func ReadEndpoint(root string) (Endpoint, error) {
	var e Endpoint
	err := readRecord(endpointPath(root), &e)
	return e, err
}

// WriteEndpoint publishes e. Only the holder of the Domain lock may.
func WriteEndpoint(root string, e Endpoint) error { return writeRecord(endpointPath(root), e) }

// RemoveEndpoint withdraws it. Only the holder of the Domain lock may.
func RemoveEndpoint(root string) error {
	if err := os.Remove(endpointPath(root)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("withdraw endpoint: %w", err)
	}
	return nil
}

// List returns the Domain Roots below dataRoot.
func List(dataRoot string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dataRoot, "domains"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list Domains: %w", err)
	}
	var roots []string
	for _, e := range entries {
		if id, err := domain.ParseID(e.Name()); err == nil && e.IsDir() {
			roots = append(roots, plan.DomainRoot(dataRoot, id))
		}
	}
	return roots, nil
}

// Identity returns whose Domain Root root is.
func Identity(root string) (id domain.ID, profile, workspace string, err error) {
	rec, err := readIdentity(filepath.Join(root, "identity"))
	if err != nil {
		return "", "", "", err
	}
	if len(rec.Digest) != len(domain.Digest{}) {
		return "", "", "", fmt.Errorf("identity of %q has no digest", root)
	}
	return domain.Digest(rec.Digest).ID(), rec.Profile, rec.Workspace, nil
}

func readRecord(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := canon.Unmarshal(data, maxRecord, v); err != nil {
		return fmt.Errorf("read %q: %w: %w", path, ErrDamaged, err)
	}
	return nil
}

// writeRecord replaces a record by rename, so that a reader sees all of it or
// none, and syncs it.
func writeRecord(path string, v any) (err error) {
	data, err := canon.Marshal(v)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	defer func() {
		tmp.Close()
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := tmp.Sync(); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}
