package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/sandboxtest"
)

// Patience bounds every wait for the finished programs. It is far above what any
// of them takes on a busy machine.
const Patience = 60 * time.Second

// Home is a developer as the finished programs see one: a home directory, XDG
// directories, a workspace and a configuration, all the test's own. The Storage
// Root is shared by the tests of one account, so that the image is unpacked once;
// Domains are told apart by their workspaces.
//
// At the test's end everything that was started must be gone: processes, sockets,
// generation directories, mounts and locks. What is left fails the test.
type Home struct {
	tb        testing.TB
	Dir       string // holds all of the below but the Storage Root
	Workspace string
	Data      string // the Storage Root
	Runtime   string // XDG_RUNTIME_DIR
	Env       []string
	Program   string // path of lazaret
}

// NewHome makes a Home whose default profile is a plain shell. Its name is short
// because socket paths are.
func NewHome(tb testing.TB) *Home {
	tb.Helper()
	return newHome(tb, filepath.Join(sandboxtest.Cache(tb), "e2e"))
}

// NewPrivateHome makes a Home with a Storage Root of its own, which holds no image
// yet.
func NewPrivateHome(tb testing.TB) *Home {
	tb.Helper()
	return newHome(tb, "")
}

func newHome(tb testing.TB, data string) *Home {
	tb.Helper()
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { removeTree(tb, dir) })
	if data == "" {
		data = filepath.Join(dir, "data")
	}
	h := &Home{
		tb: tb, Dir: dir, Data: data, Program: sandboxtest.Bin(tb, "lazaret"),
		Workspace: filepath.Join(dir, "ws"), Runtime: filepath.Join(dir, "run"),
	}
	for _, d := range []string{h.Workspace, h.Runtime, h.home(".config/lazaret")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	h.Env = []string{
		"HOME=" + h.home(""), "XDG_RUNTIME_DIR=" + h.Runtime, "PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color", "USER=" + os.Getenv("USER"), "TMPDIR=" + os.TempDir(),
	}
	h.Configure("")
	tb.Cleanup(h.cleanUp)
	return h
}

// Elsewhere is the same developer in another workspace.
func (h *Home) Elsewhere() *Home {
	h.tb.Helper()
	other := *h
	var err error
	if other.Workspace, err = os.MkdirTemp(h.Dir, "ws"); err != nil {
		h.tb.Fatal(err)
	}
	return &other
}

func (h *Home) home(rest string) string { return filepath.Join(h.Dir, "home", rest) }

// ConfigFile is the developer's own configuration file.
func (h *Home) ConfigFile() string { return h.home(".config/lazaret/config.toml") }

// Configure writes the configuration: the test image for a shell profile, and
// more, which may open any table but [storage] and [profiles.shell].
func (h *Home) Configure(more string) {
	h.tb.Helper()
	h.ConfigureShell("", more)
}

// ConfigureShell is Configure with additional lines for [profiles.shell].
func (h *Home) ConfigureShell(shell, more string) {
	h.tb.Helper()
	h.WriteConfig(fmt.Sprintf("[storage]\ndata_root = %q\n[profiles.shell]\nimage = %q\ncommand = [\"bash\"]\n%s\n%s\n",
		h.Data, sandboxtest.Source(h.tb), shell, more))
}

// WriteConfig replaces the configuration file.
func (h *Home) WriteConfig(text string) {
	h.tb.Helper()
	if err := os.WriteFile(h.ConfigFile(), []byte(text), 0o600); err != nil {
		h.tb.Fatal(err)
	}
}

// Write puts a file into the workspace.
func (h *Home) Write(name, text string) string {
	h.tb.Helper()
	path := filepath.Join(h.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.tb.Fatal(err)
	}
	return path
}

// Read returns a file of the workspace, "" when it is not there.
func (h *Home) Read(name string) string {
	b, err := os.ReadFile(filepath.Join(h.Workspace, name))
	if err != nil {
		return ""
	}
	return string(b)
}

// DomainRoot is the Domain Root of a profile in the workspace.
func (h *Home) DomainRoot(profile string) string {
	id, _ := domain.Identify(profile, h.Workspace)
	return filepath.Join(h.Data, "domains", string(id))
}

// Worktrees is where sessions of the workspace have worktrees of their own.
func (h *Home) Worktrees() worktree.Keeper {
	return worktree.Keeper{DataRoot: h.Data, Workspace: h.Workspace, Environ: h.Env}
}

// Command is lazaret with args in the workspace, not yet started. It does not
// outlive the test.
func (h *Home) Command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.tb.Context(), h.Program, args...)
	cmd.Dir, cmd.Env = h.Workspace, h.Env
	cmd.WaitDelay = Patience
	return cmd
}

// Result is a finished command.
type Result struct {
	Code           int
	Stdout, Stderr string
}

func (r Result) String() string {
	return fmt.Sprintf("status %d\nstdout: %s\nstderr: %s", r.Code, r.Stdout, r.Stderr)
}

// Lazaret runs lazaret with args to its end, without a terminal.
func (h *Home) Lazaret(args ...string) Result {
	h.tb.Helper()
	return h.Feed(nil, args...)
}

// Feed is Lazaret with something on its standard input.
func (h *Home) Feed(stdin io.Reader, args ...string) Result {
	h.tb.Helper()
	cmd := h.Command(args...)
	cmd.Stdin = stdin
	return h.Finish(cmd)
}

// Finish runs cmd to its end.
func (h *Home) Finish(cmd *exec.Cmd) Result {
	h.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		h.tb.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.tb.Fatalf("%v: %v", cmd.Args, err)
	}
	if ctx.Err() != nil {
		h.tb.Fatalf("%q did not end\nstdout: %s\nstderr: %s", cmd.Args, &stdout, &stderr)
	}
	return Result{status(cmd.ProcessState), stdout.String(), stderr.String()}
}

// Run runs a command in the default profile's sandbox, without a terminal.
func (h *Home) Run(argv ...string) Result {
	h.tb.Helper()
	return h.Lazaret(append([]string{"run", "--"}, argv...)...)
}

// Sh is Run of a shell script.
func (h *Home) Sh(script string) Result {
	h.tb.Helper()
	return h.Run("sh", "-c", script)
}

// Must is Sh of a script that has to succeed, and returns its output.
func (h *Home) Must(script string) string {
	h.tb.Helper()
	r := h.Sh(script)
	if r.Code != 0 {
		h.tb.Fatalf("sh -c %q inside: %v", script, r)
	}
	return r.Stdout
}

// Terminal starts lazaret with args in a terminal, which hangs up at the test's end.
func (h *Home) Terminal(cols, rows int, args ...string) *Terminal {
	h.tb.Helper()
	t, err := Start(h.Command(args...), cols, rows)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(func() {
		t.Close()
		if _, err := t.Wait(Patience); err != nil {
			h.tb.Error(err)
		}
	})
	return t
}

// Client is a session that runs beside the test, without a terminal.
type Client struct {
	tb     testing.TB
	Cmd    *exec.Cmd
	stdin  io.WriteCloser
	output *growing
	errors *growing
	done   chan struct{}
}

// Open starts lazaret with args in the background.
func (h *Home) Open(args ...string) *Client {
	h.tb.Helper()
	c := &Client{tb: h.tb, Cmd: h.Command(args...), output: newGrowing(), errors: newGrowing(), done: make(chan struct{})}
	var err error
	if c.stdin, err = c.Cmd.StdinPipe(); err != nil {
		h.tb.Fatal(err)
	}
	c.Cmd.Stdout, c.Cmd.Stderr = c.output, c.errors
	if err := c.Cmd.Start(); err != nil {
		h.tb.Fatal(err)
	}
	go func() {
		defer close(c.done)
		c.Cmd.Wait()
	}()
	h.tb.Cleanup(func() {
		c.stdin.Close()
		c.Cmd.Process.Kill()
		<-c.done
	})
	return c
}

// Hold keeps the default profile's Domain up until the test or the returned
// client ends.
func (h *Home) Hold() *Client {
	h.tb.Helper()
	return h.HoldIn("shell")
}

// HoldIn is Hold for another profile.
func (h *Home) HoldIn(profile string) *Client {
	h.tb.Helper()
	c := h.Open("run", profile, "--", "sh", "-c", "echo held; exec cat")
	c.Shows("held")
	return c
}

// Shows waits until the client's standard output contains text.
func (c *Client) Shows(text string) {
	c.tb.Helper()
	c.await(c.output, "standard output", text)
}

// Says waits until the client's standard error contains text.
func (c *Client) Says(text string) {
	c.tb.Helper()
	c.await(c.errors, "standard error", text)
}

func (c *Client) await(g *growing, name, text string) {
	c.tb.Helper()
	late := time.After(Patience)
	for {
		now, changed := g.now()
		if strings.Contains(now, text) {
			return
		}
		select {
		case <-changed:
		case <-c.done:
			if now, _ = g.now(); strings.Contains(now, text) {
				return
			}
			c.tb.Fatalf("%q ended without %q on its %s: %v", c.Cmd.Args, text, name, c.result())
		case <-late:
			c.tb.Fatalf("%q never shows %q on its %s; stdout %q, stderr %q", c.Cmd.Args, text, name, c.output, c.errors)
		}
	}
}

// Type writes to the client's standard input.
func (c *Client) Type(text string) {
	c.tb.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		c.tb.Fatal(err)
	}
}

// End closes standard input and waits for the client.
func (c *Client) End() Result {
	c.tb.Helper()
	c.stdin.Close()
	return c.Wait()
}

// Wait waits for the client.
func (c *Client) Wait() Result {
	c.tb.Helper()
	select {
	case <-c.done:
	case <-time.After(Patience):
		c.tb.Fatalf("%q does not end; stdout %q, stderr %q", c.Cmd.Args, c.output, c.errors)
	}
	return c.result()
}

// Running says whether the client has not ended.
func (c *Client) Running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

func (c *Client) result() Result {
	return Result{status(c.Cmd.ProcessState), c.output.String(), c.errors.String()}
}

// Git runs Git on the host, in the workspace and with the Home's own configuration.
func (h *Home) Git(args ...string) string {
	h.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = h.Workspace, append(h.Env, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	r := h.Finish(cmd)
	if r.Code != 0 {
		h.tb.Fatalf("git %q: %v", args, r)
	}
	return r.Stdout
}
