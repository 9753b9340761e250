package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/safefs"
)

// trustRecord says that the developer has read and accepted one workspace file.
// It binds the exact bytes that were parsed: any later change is a new file.
type trustRecord struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"`
	SHA256    string `json:"sha256"`
}

const (
	trustVersion  = 1
	maxTrustBytes = 16 << 10
)

// trustPath is one file per workspace, so that two terminals never rewrite each
// other's record. It lies in the state directory, which no sandbox sees.
func trustPath(h hostFacts, workspace string) (string, error) {
	if h.stateHome == "" {
		return "", bad("set HOME or XDG_STATE_HOME", "no home directory is known to keep trust in")
	}
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(h.stateHome, "lazaret", "trust", hex.EncodeToString(sum[:])+".json"), nil
}

// readTrust returns the digest trusted for workspace, or "" for none. A record
// somebody else may have written is an error, not a missing record.
func readTrust(h hostFacts, workspace string) (string, error) {
	path, err := trustPath(h, workspace)
	if err != nil {
		return "", nil // nowhere to keep trust means none was given
	}
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", Problems{{File: path, Message: err.Error(), Hint: "remove the record and run `lazaret config trust` again"}}
	}
	defer f.Close()
	r, err := decodeTrust(f, h.uid)
	if err == nil && r.Workspace != printable(workspace) {
		err = fmt.Errorf("is about another workspace, %q", r.Workspace)
	}
	if err != nil {
		return "", Problems{{File: path, Message: err.Error(), Hint: "remove the record and run `lazaret config trust` again"}}
	}
	return r.SHA256, nil
}

func decodeTrust(f *os.File, uid int) (trustRecord, error) {
	var r trustRecord
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != uid || info.Mode().Perm()&0o077 != 0 {
		return r, errors.New("is not a regular file of yours with mode 0600")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTrustBytes))
	if err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("is not a record of trust: %w", err)
	}
	if r.Version != trustVersion {
		return r, fmt.Errorf("has version %d, this Lazaret knows %d", r.Version, trustVersion)
	}
	return r, nil
}

// Change is one key a workspace file sets, beside what it would be without it.
type Change struct {
	Key      string
	Line     int
	Old, New string
	// Refused says why the key needs trust; empty for one that only narrows.
	Refused string
}

// Review is a workspace file as `lazaret config trust` shows it. It holds the
// digest of the bytes that were read for it, and only those can be accepted.
type Review struct {
	Workspace string
	Path      string
	SHA256    string
	Trusted   bool
	Changes   []Change

	host hostFacts
}

// ReadReview reads the workspace file of o and compares it with the
// configuration without it. It refuses a file that would be refused even when
// trusted.
func ReadReview(o Options) (*Review, error) {
	l, err := newLoader(o)
	if err != nil {
		return nil, err
	}
	l.reviewing = true
	if err := l.read(); err != nil {
		return nil, err
	}
	after, err := l.finish()
	if err != nil {
		return nil, err
	}
	if l.reviewed == nil {
		return nil, &fault.Error{Kind: fault.Config, Message: "there is no " + WorkspaceFileName + " in " + printable(l.workspace), Fix: "there is nothing to trust"}
	}
	r := &Review{Workspace: l.workspace, Path: l.reviewed.path, SHA256: l.reviewed.sha256, host: l.host}
	for _, f := range after.Files {
		r.Trusted = r.Trusted || f.Trusted
	}
	r.Changes = l.compare(after)
	return r, nil
}

func (l *loader) compare(after *Config) []Change {
	old, refused := entryValues(l.before), map[string]string{}
	now := entryValues(after)
	for _, p := range l.offending {
		refused[p.Key] = p.Message
	}
	out := make([]Change, 0, len(l.changes))
	for _, c := range l.changes {
		name := c.name()
		out = append(out, Change{Key: name, Line: c.line, Old: old[name], New: now[name], Refused: refused[name]})
	}
	return out
}

// Accept records that exactly the reviewed bytes are trusted.
func (r *Review) Accept() error {
	path, err := trustPath(r.host, r.Workspace)
	if err != nil {
		return &fault.Error{Kind: fault.Config, Message: err.Error(), Fix: hintOf(err)}
	}
	data, err := json.MarshalIndent(trustRecord{Version: trustVersion, Workspace: printable(r.Workspace), SHA256: r.SHA256}, "", "  ")
	if err == nil {
		err = safefs.WritePrivate(path, append(data, '\n'))
	}
	if err != nil {
		return &fault.Error{Kind: fault.Config, Message: "record trust in " + printable(path), Err: err, Fix: "check that the directory is yours and has space"}
	}
	return nil
}
