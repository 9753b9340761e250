package config

import (
	"errors"
	"os"
	"path/filepath"

	"lazaret.dev/lazaret/internal/fault"
)

// WorkspaceFileName is the configuration file of a workspace.
const WorkspaceFileName = "lazaret.toml"

// Options says what to load and on whose behalf.
type Options struct {
	// Workspace is the Agent Workspace; it is made canonical.
	Workspace string
	// Worktree is the Agent Workspace instead when it is set: a work tree that Lazaret
	// made of Workspace for a session. Workspace is still whose file and trust count.
	Worktree string
	// Flag is the file named by --config, or empty.
	Flag string
	// Environ is the host environment, "NAME=value".
	Environ []string
	UID     int
	// PasswdHome is asked for the home directory when HOME is not set; nil reads
	// the password file.
	PasswdHome func() string
}

// Load reads the three layers and returns the effective configuration. No file
// at all is fine. What is wrong comes back as a *fault.Error of kind Config that
// wraps Problems; a workspace that is not there has kind Workspace.
func Load(o Options) (*Config, error) {
	l, err := newLoader(o)
	if err != nil {
		return nil, err
	}
	if err := l.read(); err != nil {
		return nil, err
	}
	return l.finish()
}

// ForWorktree loads the configuration again, for a session in the work tree at path that
// Lazaret made of the workspace.
func (c *Config) ForWorktree(path string) (*Config, error) {
	o := c.options
	o.Worktree = path
	return Load(o)
}

// loader is one Load under way.
type loader struct {
	host      hostFacts
	options   Options
	workspace string // whose file is read
	tree      string // the Agent Workspace
	merged    *merged
	files     []File
	problems  Problems
	// reviewing is set by Review: the workspace file is merged whatever it asks
	// for, and before and offending are kept.
	reviewing bool
	before    *Config
	offending Problems
	reviewed  *source
	changes   []leaf
}

func newLoader(o Options) (*loader, error) {
	ws, err := canonicalWorkspace(o.Workspace)
	if err != nil {
		return nil, err
	}
	l := &loader{host: facts(o), options: o, workspace: ws, tree: ws, merged: newMerged()}
	if o.Worktree != "" {
		if l.tree, err = canonicalWorkspace(o.Worktree); err != nil {
			return nil, err
		}
	}
	if o.Flag != "" {
		if l.host.flagFile, err = filepath.Abs(o.Flag); err != nil {
			return nil, &fault.Error{Kind: fault.Config, Message: "resolve --config", Err: err}
		}
	}
	return l, nil
}

// canonicalWorkspace resolves the workspace and insists that it is a directory.
func canonicalWorkspace(path string) (string, error) {
	gone := func(err error) error {
		return &fault.Error{
			Kind: fault.Workspace, Message: "the workspace " + printable(path) + " cannot be used", Err: err,
			Fix: "change to a directory that exists and that you may read",
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", gone(err)
	}
	ws, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", gone(err)
	}
	info, err := os.Stat(ws)
	if err != nil {
		return "", gone(err)
	}
	if !info.IsDir() {
		return "", &fault.Error{Kind: fault.Workspace, Message: "the workspace " + printable(path) + " is not a directory", Fix: "start Lazaret in the directory to work on"}
	}
	return ws, nil
}

// read merges the files, lowest first. A file with problems is not merged, but
// the later ones are still looked at, so that one run names everything.
func (l *loader) read() error {
	if l.host.userFile != "" {
		l.file(LayerUser, l.host.userFile)
	}
	l.file(LayerWorkspace, filepath.Join(l.workspace, WorkspaceFileName))
	if l.host.flagFile != "" {
		if _, err := os.Lstat(l.host.flagFile); os.IsNotExist(err) {
			return &fault.Error{Kind: fault.Config, Message: "the file named by --config, " + printable(l.host.flagFile) + ", does not exist", Fix: "check the path, or leave --config out"}
		}
		l.file(LayerFlag, l.host.flagFile)
	}
	return nil
}

func (l *loader) file(layer Layer, path string) {
	s, err := readSource(layer, path)
	if err != nil {
		l.problems = append(l.problems, asProblems(err)...)
		return
	}
	if s == nil {
		return
	}
	leaves, problems := s.check()
	file := File{Layer: layer, Path: path, SHA256: s.sha256}
	if layer == LayerWorkspace && len(problems) == 0 {
		problems = l.vet(s, leaves, &file)
	}
	l.files = append(l.files, file)
	l.problems = append(l.problems, problems...)
	if len(problems) == 0 {
		l.merged.add(s, leaves)
	}
}

// vet decides how a workspace file may be merged: whole when its exact bytes are
// trusted, else only if it narrows.
func (l *loader) vet(s *source, leaves []leaf, file *File) Problems {
	trusted, err := readTrust(l.host, l.workspace)
	if err != nil {
		return asProblems(err)
	}
	file.Trusted = trusted == s.sha256
	if l.reviewing {
		l.reviewed, l.changes = s, leaves
		l.offending = narrow(l.merged, s, leaves)
		before, err := l.snapshot()
		if err != nil {
			return asProblems(err)
		}
		l.before = before
		return nil
	}
	if file.Trusted {
		return nil
	}
	return narrow(l.merged, s, leaves)
}

// snapshot builds the configuration as merged so far.
func (l *loader) snapshot() (*Config, error) {
	s, err := l.merged.settings()
	if err != nil {
		return nil, err
	}
	origins := map[string]Origin{}
	for k, v := range l.merged.origins {
		origins[k] = v
	}
	m := *l.merged
	m.origins = origins
	b := &builder{merged: &m, host: l.host, config: &Config{
		Workspace: l.tree, Home: l.workspace, Origins: origins, Files: l.files, host: l.host, options: l.options,
	}}
	b.build(s)
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	return b.config, nil
}

func (l *loader) finish() (*Config, error) {
	if len(l.problems) > 0 {
		return nil, l.problems.fault()
	}
	c, err := l.snapshot()
	if err != nil {
		return nil, asProblems(err).fault()
	}
	c.Notices = c.notices()
	return c, nil
}

// notices says what is accepted and worth knowing.
func (c *Config) notices() []string {
	var out []string
	if len(c.Escalation.AutoApprove) > 0 {
		out = append(out, "escalation.auto_approve: this version applies no rules yet; every request is still asked")
	}
	for _, r := range c.Escalation.AutoApprove {
		if r.ExtraArgs {
			out = append(out, "escalation.auto_approve: a rule with extra_args allows any further arguments; prefer the exact vector")
			break
		}
	}
	return out
}

func asProblems(err error) Problems {
	var ps Problems
	if errors.As(err, &ps) {
		return ps
	}
	return Problems{{Message: err.Error()}}
}
