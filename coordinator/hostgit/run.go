package hostgit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/term"
)

// Repo runs git in one work tree. It is a value: its methods may overlap.
type Repo struct {
	Place
	git   string
	home  string
	extra []string // variables of the environment
	// drop leaves out a setting or a variable of the environment; only tests set it, to
	// see what each of them is for.
	drop func(name string) bool
}

// Open finds the repository of the work tree at tree and the host's git. environ is the
// host's environment, of which HOME is used. Errors: those of Locate, and a *fault.Error
// when there is no git.
func Open(tree string, environ []string) (Repo, error) {
	place, err := Locate(tree)
	if err != nil {
		return Repo{}, err
	}
	git, err := proc.LookPath("git")
	if err != nil {
		return Repo{}, &fault.Error{Kind: fault.Host, Message: "git is not installed", Err: err, Fix: "install it, for example: sudo apt-get install git"}
	}
	r := Repo{Place: place, git: git}
	for _, v := range environ {
		if home, ok := strings.CutPrefix(v, "HOME="); ok {
			r.home = home
		}
	}
	return r, nil
}

// With returns a Repo whose runs have further variables of git(1) in their environment.
func (r Repo) With(env ...string) Repo {
	r.extra = append(append([]string(nil), r.extra...), env...)
	return r
}

// ExitError is a git that ended with another status than 0.
type ExitError struct {
	Command string
	Exit    proc.Exit
	Stderr  string // sanitised
}

// Error returns what git said, or how it ended.
func (e *ExitError) Error() string {
	said := strings.TrimSpace(e.Stderr)
	if said == "" {
		said = e.Exit.String()
	}
	return fmt.Sprintf("git %s: %s", e.Command, said)
}

// Status returns the exit status in err if it is an ExitError, else -1.
func Status(err error) int {
	var e *ExitError
	if !errors.As(err, &e) {
		return -1
	}
	return e.Exit.Status()
}

// Output runs git with args and returns what it prints, without the last line's end. A
// status other than 0 is an *ExitError.
func (r Repo) Output(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := r.Run(ctx, nil, &out, args...)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// maxStderr bounds what is kept of git's complaints.
const maxStderr = 16 << 10

// Run runs git with args in the work tree, its input being in and its output going to
// out. It is killed when ctx ends. A status other than 0 is an *ExitError.
func (r Repo) Run(ctx context.Context, in []byte, out io.Writer, args ...string) error {
	vars, err := r.settings(r.home)
	if err != nil {
		return err
	}
	said := &bounded{left: maxStderr}
	exit, err := start(ctx, proc.Spec{
		Path: r.git, Args: append([]string{"git"}, args...), Dir: r.Tree, Setsid: true,
		Env: r.environ(overrides(vars)),
	}, in, out, said)
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	if exit.Status() != 0 {
		return &ExitError{Command: args[0], Exit: exit, Stderr: term.SanitizeLines(said.String())}
	}
	return nil
}

// environ is all that git gets of an environment (git(1)).
func (r Repo) environ(settings []setting) []string {
	env := []string{
		"PATH=" + filepath.Dir(r.git) + ":/usr/bin:/bin", "LC_ALL=C",
		"GIT_DIR=" + r.GitDir, "GIT_WORK_TREE=" + r.Tree,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_SSH_COMMAND=false",
		"GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
		// Stronger than protocol.allow, which gives way to protocol.<name>.allow.
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		// The sandbox can make refs/replace: what is shown must be what would be merged.
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0",
	}
	if r.home != "" {
		env = append(env, "HOME="+r.home)
	}
	if r.drop != nil {
		env = slices.DeleteFunc(env, func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return r.drop(name)
		})
		settings = slices.DeleteFunc(settings, func(s setting) bool { return r.drop(s.key) })
	}
	return append(append(env, environment(settings)...), r.extra...)
}

// start runs spec with its three streams and waits for its end. The copying goroutines
// end with it.
func start(ctx context.Context, spec proc.Spec, in []byte, out, said io.Writer) (proc.Exit, error) {
	var mine, theirs []*os.File
	defer func() {
		for _, f := range append(mine, theirs...) {
			f.Close()
		}
	}()
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return proc.Exit{}, err
		}
		if i == 0 {
			r, w = w, r
		}
		mine, theirs = append(mine, r), append(theirs, w)
	}
	spec.Files = theirs
	p, err := proc.Start(spec)
	if err != nil {
		return proc.Exit{}, err
	}
	for _, f := range theirs {
		f.Close()
	}
	return converse(ctx, p, mine, in, out, said)
}

// converse feeds a started process and reads what it says. An error of out is that of the
// run, and ends it.
func converse(ctx context.Context, p *proc.Process, mine []*os.File, in []byte, out, said io.Writer) (proc.Exit, error) {
	fed, read, heard := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(fed)
		_, _ = mine[0].Write(in) // a git that does not want it says so by its status
		mine[0].Close()
	}()
	go func() {
		_, err := io.Copy(out, mine[1])
		mine[1].Close() // who cannot write any more ends
		read <- err
	}()
	go func() {
		defer close(heard)
		_, _ = io.Copy(said, mine[2]) // what was heard until then is the answer
	}()
	exit, err := p.Wait(ctx)
	if err != nil {
		_ = p.Signal(unix.SIGKILL)
		<-p.Done()
		for _, f := range mine { // a child of git's may hold the other ends
			f.Close()
		}
	}
	<-fed
	<-heard
	if werr := <-read; err == nil && werr != nil {
		err = werr
	}
	p.Release()
	return exit, err
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.Buffer.Write(p[:n])
	return len(p), nil
}
