package route

import (
	"errors"
	"fmt"
	"io/fs"

	"lazaret.dev/lazaret/internal/fault"
)

// Mode says where ignored and untracked paths live.
type Mode uint8

// The modes.
const (
	IgnoredDomain Mode = 0 // in Domain storage; the host's are not shown
	IgnoredShared Mode = 1 // with the host, like any other file
)

// Outside stands for a git directory outside the workspace in the paths given to
// HostChanged and GuestChanged: "//git/index" is its index.
const Outside = "//git"

// Config is what the rules are made from. Only Read and Look must be set.
type Config struct {
	Ignored Mode
	// Masks and Secrets are patterns of one name each, as path.Match has them.
	Masks, Secrets []string
	// Hidden are paths that do not exist inside: Lazaret's own configuration.
	Hidden []string
	// Protected are paths the host's git configuration includes or takes hooks from.
	Protected []string
	// Excludes is the content of core.excludesFile.
	Excludes []byte
	// Index, Exclude and GitConfig are the contents of the index, of info/exclude and of the
	// configuration of a git directory outside the workspace (of a linked work tree); nil
	// when it is inside.
	Index, Exclude, GitConfig []byte
	// Admin is the administrative directory of the linked work tree that the workspace is,
	// below that git directory; "" when the workspace is no linked work tree.
	Admin string
	// Pins are those of the generation before, see Policy.Pins.
	Pins map[string]Pin
	// Read and Look are called while the rules are locked: they must not call them. Read
	// returns the content of a regular file of the host, and fs.ErrNotExist for
	// anything else: it follows no link.
	Read func(path string, limit int64) ([]byte, error)
	// Look tells what the host has at a path.
	Look func(path string) Kind
}

// New returns the rules of a workspace. They read as few files as they can: those of
// the workspace's own directory now, others when their directories are entered.
// Errors: a pattern that is none, an index or an ignore file that cannot be
// understood (fault.Workspace).
func New(c Config) (*Policy, error) {
	r := &Policy{config: c, hidden: hiddenOf(c.Hidden), above: map[string]bool{}, repos: map[string]*repo{},
		written: map[version]bool{}, past: map[string]*repo{}, touched: map[string]bool{}}
	var err error
	if r.masks, err = globsOf(c.Masks); err != nil {
		return nil, fmt.Errorf("masks: %w", err)
	}
	if r.secrets, err = globsOf(c.Secrets); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	for path, pin := range c.Pins {
		if pin.Guest {
			r.written[version{path, pin.Written}] = true
		}
	}
	r.protected.Store(&map[string]bool{})
	r.Protect(c.Protected)
	for _, path := range c.Hidden {
		r.pinAbove(path)
	}
	if r.top, err = r.open(""); err != nil {
		return nil, &fault.Error{Kind: fault.Workspace, Message: "the rules of this workspace's repository cannot be read",
			Fix: "check with: git status", Err: err}
	}
	r.root = r.newRoot()
	return r, nil
}

// ownConfig is Lazaret's configuration at the top of a workspace. It is hidden
// whether or not Config says so.
const ownConfig = "lazaret.toml"

func hiddenOf(list []string) map[string]bool {
	hidden := map[string]bool{ownConfig: true}
	for _, path := range list {
		hidden[fold(path)] = true
	}
	return hidden
}

func set(list []string) map[string]bool {
	s := make(map[string]bool, len(list))
	for _, v := range list {
		s[v] = true
	}
	return s
}

// read returns a file's content, nil and false when the host has none.
func (r *Policy) read(path string, limit int64) ([]byte, bool, error) {
	content, err := r.config.Read(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return content, err == nil, err
}
