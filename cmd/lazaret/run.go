package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/attach"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

func newRunCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [PROFILE] [-- COMMAND ARGUMENT...]",
		Short: "Run one session in this terminal, without the dashboard",
		Long: `Run one session of a profile in this terminal. Its exit status is the command's
own (128+n when signal n ended it); the codes from 120 to 125 are Lazaret's.

With a terminal on both standard input and output the command gets a terminal of
its own. Otherwise it gets three separate streams, as in a pipe or in CI.

At the start of a line, "~." ends the session, "~" and Ctrl-Z stops lazaret
itself and gives the terminal back until it is continued, and "~~" is one "~".

A profile with git.mode = "worktree" gives the session a worktree and a branch of
its own. At the end they are removed if nothing is left in them.

When the sandbox asks to run something on the host, a card appears and the
program waits until it is answered.`,
		Example: `  lazaret run                          # the default profile's command
  lazaret run claude                   # the profile "claude"
  lazaret run -- make test             # one command, default profile
  lazaret run claude --name fix-login  # git.mode = "worktree": on branch lazaret/agent-fix-login
  lazaret run shell -- sh -c 'ls | wc' # a shell must be asked for by name
  git diff | lazaret run -- wc -l      # pipes work`,
		RunE: func(cmd *cobra.Command, args []string) error {
			before := cmd.ArgsLenAtDash()
			if before < 0 {
				before = len(args)
			}
			if before > 1 {
				return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("%q: at most one profile can be run", strings.Join(args[:before], " ")),
					Fix: "put the command behind --, as in: lazaret run " + args[0] + " -- " + strings.Join(args[1:before], " ")}
			}
			if before == 1 {
				o.profile = args[0]
			}
			o.argv = args[before:]
			return o.run(cmd)
		},
	}
	cmd.Flags().BoolVarP(&o.noTTY, "no-tty", "T", false, "give the command pipes even when there is a terminal")
	cmd.Flags().StringVarP(&o.name, "name", "n", "", "a name for the session, shown by lazaret ps, and for its worktree if it gets one")
	cmd.Flags().StringVarP(&o.resume, "resume", "r", "", "go on in the worktree of this name (lazaret state worktrees lists them)")
	cmd.ValidArgsFunction = completeProfiles
	return cmd
}

// runOptions is what the command line of `lazaret run` asks for.
type runOptions struct {
	profile string
	argv    []string
	name    string
	resume  string
	noTTY   bool
}

func (o runOptions) run(cmd *cobra.Command) error {
	c, workspace, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if err := o.chooseProfile(c); err != nil {
		return err
	}
	tty := !o.noTTY && attach.IsTerminal(os.Stdin) && attach.IsTerminal(os.Stdout)
	start := wire.Start{Argv: o.argv, Name: o.name, TTY: tty}
	if tty {
		start.Size = attach.Size(os.Stdout)
		start.Env = terminalEnvironment(os.Environ())
	}
	report := &progressLine{out: os.Stderr, terminal: attach.IsTerminal(os.Stderr)}
	opener := newSessions(c, o.resume, func(out worktree.Outcome) { writeOutcome(os.Stderr, out) })
	defer opener.Wait() // after the session is closed
	session, err := openSession(opener, spawn.Request{Profile: o.profile, Workspace: workspace, Start: start}, report)
	report.clear()
	if err != nil {
		return err
	}
	defer session.Close()
	code := 0
	if tty {
		code, err = attach.Terminal(context.Background(), session, os.Stdin, os.Stdout)
	} else {
		code, err = attach.Pipes(context.Background(), session, os.Stdin, os.Stdout, os.Stderr)
	}
	if err != nil {
		// A coordinator that was killed leaves its socket, and we may be the last
		// to know.
		_ = root.AwaitSwept(context.Background(), c.Storage.DataRoot, o.profile, session.Welcome().Workspace)
		return err
	}
	if code != 0 {
		return statusError(code)
	}
	return nil
}

// chooseProfile fills in the profile that the command line leaves open.
func (o *runOptions) chooseProfile(c *config.Config) error {
	if o.resume != "" && o.name != "" {
		return &fault.Error{Kind: fault.Usage, Message: "--name is for a new worktree, --resume for one there is", Fix: "give one of the two"}
	}
	if o.resume != "" {
		profile, err := keeper(c).Profile(o.resume)
		if err != nil {
			return err
		}
		if o.profile == "" {
			o.profile = profile
		}
		if p, ok := c.Profiles[o.profile]; ok && p.GitMode != config.GitWorktree {
			return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("sessions of profile %q work in the workspace itself", o.profile),
				Fix: fmt.Sprintf("leave --resume out, or set git.mode = %q in the profile", config.GitWorktree)}
		}
	}
	if o.profile == "" {
		o.profile = c.DefaultProfile
	}
	return nil
}

// openSession opens the session; until it is open, an interrupt ends the attempt.
func openSession(opener sessionOpener, r spawn.Request, report *progressLine) (*client.Session, error) {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	s, err := opener.Open(ctx, r, report.show)
	if err != nil && ctx.Err() != nil {
		return nil, statusError(128 + int(unix.SIGINT))
	}
	return s, err
}

// terminalEnvironment is what describes the terminal in environ; nothing else of
// the host's environment goes to a session.
func terminalEnvironment(environ []string) []string {
	var out []string
	for _, v := range environ {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR":
			out = append(out, v)
		}
	}
	return out
}

// progressLine shows the current step on one line of a terminal; elsewhere only
// what may take long.
type progressLine struct {
	out      *os.File
	terminal bool

	mu    sync.Mutex
	shown bool
	last  string
}

func (p *progressLine) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasPrefix(text, noticePrefix) {
		if p.terminal {
			fmt.Fprint(p.out, "\r\x1b[K")
		}
		fmt.Fprintf(p.out, "lazaret: %s\n", text)
		return
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[Klazaret: %s", text)
		p.shown = true
		return
	}
	stage, _, _ := strings.Cut(text, " MiB")
	stage = strings.TrimRight(stage, "0123456789 of")
	if strings.HasPrefix(text, "preparing") && stage != p.last {
		p.last = stage
		fmt.Fprintf(p.out, "lazaret: %s\n", stage)
	}
}

func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// completeProfiles completes the name of a profile.
func completeProfiles(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	c, _, err := loadConfig(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for name := range c.Profiles {
		names = append(names, name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
