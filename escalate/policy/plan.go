package policy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate"
)

// Plan is a judged request: what would run, and what it is bound to. It holds
// descriptors; the one who has it closes it.
type Plan struct {
	Argv []string
	// Relative is the working directory relative to the workspace, Dir its real
	// path on the host.
	Relative, Dir string
	// Program is the real absolute path that runs; when empty, ProgramError says
	// why nothing would.
	Program      string
	ProgramError string
	Warnings     []string
	Files        []escalate.File

	loose    []string // files it runs as code and could not be held to
	policy   *Policy
	identity identity // of a program the sandbox cannot write
	copy     *os.File // sealed bytes of one it can
}

// identity tells a file from what replaced it.
type identity struct {
	dev, ino uint64
	size     int64
	mtime    unix.Timespec
}

func identityOf(st *unix.Stat_t) identity {
	return identity{dev: st.Dev, ino: st.Ino, size: st.Size, mtime: st.Mtim}
}

// Judge checks argv and the directory rel (relative to the workspace) and finds
// out what it would run. It returns an error wrapping ErrRefused when the request
// must not be shown; a program that cannot be found is shown.
func (p *Policy) Judge(argv []string, rel string) (*Plan, error) {
	if err := CheckArgv(argv); err != nil {
		return nil, err
	}
	dir, real, err := p.openDir(rel)
	if err != nil {
		return nil, err
	}
	dir.Close()
	plan := &Plan{Argv: argv, Relative: rel, Dir: real, policy: p}
	if err := plan.resolve(); err != nil {
		plan.ProgramError = err.Error()
	}
	plan.bindScripts()
	plan.Warnings = p.warnings(plan)
	return plan, nil
}

// Close releases the copies.
func (plan *Plan) Close() {
	if plan.copy != nil {
		plan.copy.Close()
		plan.copy = nil
	}
}

// Held is how many bytes of memory the plan's copies take.
func (plan *Plan) Held() int64 {
	var n int64
	for _, f := range plan.Files {
		if f.Copied {
			n += f.Size
		}
	}
	return n
}

// resolve finds the program, and copies it when the sandbox can write it.
func (plan *Plan) resolve() error {
	found, err := plan.policy.find(plan.Argv[0], plan.Dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return fmt.Errorf("%s: %w", found, reason(err))
	}
	if root := plan.policy.residence(real); root != "" {
		f, copied, err := capture(root, real, keepCopy)
		if err != nil {
			return fmt.Errorf("%s: %w", real, reason(err))
		}
		plan.copy = copied
		plan.Files = append(plan.Files, f)
		plan.Program = real
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(real, &st); err != nil {
		return fmt.Errorf("%s: %w", real, err)
	}
	if err := executable(real, &st); err != nil {
		return fmt.Errorf("%s: %w", real, err)
	}
	plan.Program, plan.identity = real, identityOf(&st)
	return nil
}

// find returns the absolute path argv0 means on the host.
func (p *Policy) find(argv0, dir string) (string, error) {
	if strings.Contains(argv0, "/") {
		found := argv0
		if !filepath.IsAbs(found) {
			found = filepath.Join(dir, found)
		}
		if _, err := os.Stat(found); err != nil {
			if within(argv0, p.WorkspaceGuest) && p.WorkspaceGuest != p.Workspace {
				return "", fmt.Errorf("%s is a path of the sandbox; on the host the workspace is %s", argv0, p.Workspace)
			}
			return "", fmt.Errorf("%s: %w", argv0, reason(err))
		}
		return found, nil
	}
	for _, d := range p.search {
		found := filepath.Join(d, argv0)
		var st unix.Stat_t
		if unix.Stat(found, &st) == nil && executable(found, &st) == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("no program %q in the PATH of the host", argv0)
}

func executable(name string, st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("not a regular file")
	}
	if err := unix.Faccessat(unix.AT_FDCWD, name, unix.X_OK, unix.AT_EACCESS); err != nil {
		return errors.New("not executable")
	}
	return nil
}

// residence returns the sandbox-writable root a real path lies in, else "".
func (p *Policy) residence(real string) string {
	for _, root := range p.writable {
		if within(real, root) {
			return root
		}
	}
	return ""
}

// reason drops the operation and path a *PathError repeats.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Bound is a plan just before its start. The files are the caller's to close.
type Bound struct {
	Path    string   // what to execute; of Program when that is set
	Program *os.File // the copy, to be descriptor ProgramDescriptor of the child
	Dir     *os.File // the working directory
}

// ProgramDescriptor is the child's descriptor Path refers to when Program is set.
const ProgramDescriptor = 3

// ErrDrift is wrapped when something shown is not what it was.
var ErrDrift = errors.New("changed since it was shown")

// Bind checks that everything shown is still so and returns what to start.
func (plan *Plan) Bind() (*Bound, error) {
	if plan.Program == "" {
		return nil, errors.New(plan.ProgramError)
	}
	for _, f := range plan.Files {
		if err := plan.policy.unchanged(f); err != nil {
			return nil, err
		}
	}
	b := &Bound{Path: plan.Program}
	if plan.copy != nil {
		f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", plan.copy.Fd()))
		if err != nil {
			return nil, fmt.Errorf("open the copy of %s: %w", plan.Program, reason(err))
		}
		b.Program, b.Path = f, fmt.Sprintf("/proc/self/fd/%d", ProgramDescriptor)
	} else {
		var st unix.Stat_t
		if err := unix.Stat(plan.Program, &st); err != nil || identityOf(&st) != plan.identity {
			return nil, fmt.Errorf("%s %w", plan.Program, ErrDrift)
		}
	}
	dir, real, err := plan.policy.openDir(plan.Relative)
	if err == nil && real != plan.Dir {
		dir.Close()
		err = fmt.Errorf("the working directory %s %w", plan.Dir, ErrDrift)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	b.Dir = dir
	return b, nil
}

// Close closes the files.
func (b *Bound) Close() {
	if b.Program != nil {
		b.Program.Close()
	}
	if b.Dir != nil {
		b.Dir.Close()
	}
}

func (p *Policy) unchanged(f escalate.File) error {
	root := p.residence(f.Path)
	if root == "" {
		return fmt.Errorf("%s %w", f.Path, ErrDrift)
	}
	now, _, err := capture(root, f.Path, hashOnly)
	if err != nil || now.Size != f.Size || !bytes.Equal(now.SHA256, f.SHA256) {
		return fmt.Errorf("%s %w", f.Path, ErrDrift)
	}
	return nil
}
