package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"lazaret.dev/lazaret/escalate/wire"
)

// Exit codes of lazaret-escalate. Any other is the command's own.
const (
	ExitUsage     = 2
	ExitNotRun    = 125 // refused, expired, withdrawn, could not be started, or no answer
	ExitDenied    = 126
	ExitInterrupt = 130
)

const help = `Ask the developer to run a command on the host, outside this sandbox.

Usage:
  lazaret-escalate [--why TEXT] [--timeout D] [--quiet] [--] COMMAND [ARGUMENT…]
  lazaret-escalate [--why TEXT] [--timeout D] [--quiet] -c 'COMMAND ARGUMENT…'
  lazaret-escalate status STATE

The developer sees exactly the arguments given and approves, edits or denies. The
command then runs on the host in the directory that this one is there, as the
developer, without input and without a terminal. Its output appears here as it
comes, and its exit status becomes this program's.

No shell is involved: nothing is expanded. -c splits a string into words, with
quotes, and refuses what only a shell could do. For a pipe, ask for a shell:
  lazaret-escalate -- sh -c 'ps aux | head'

Options:
  --why TEXT     why the host is needed; shown beside the command
  --timeout D    withdraw the request after D (90s, 10m) without a decision
  --quiet        no remarks of this program on standard error
  --help         this text

Examples:
  lazaret-escalate --why 'publish the branch' -- git push origin HEAD
  lazaret-escalate -- adb devices

Exit codes:
  the command's, 128+n when signal n ended it
  2     wrong usage
  125   not run: refused, expired, withdrawn, not startable, or no answer
  126   denied by the developer
  130   interrupted here (143 terminated): the request is withdrawn, the command ended
`

// Main is the program: args includes the program's name. It returns the exit code.
func Main(args []string) int {
	// A reader that goes away must be an error of the write, so that the host's
	// command is ended, not the silent end of this program.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if s, ok := (<-signals).(syscall.Signal); ok {
			stop(interrupted(s))
		}
	}()
	c := Client{
		Base: wire.GuestDir, Session: os.Getenv(wire.SessionVariable), Capability: os.Getenv(wire.CapabilityVariable),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if dir, err := os.Getwd(); err == nil {
		c.Dir = dir
	}
	return c.Run(ctx, args[1:])
}

// interrupted is the cancellation cause of a signal.
type interrupted syscall.Signal

func (i interrupted) Error() string { return "interrupted by " + syscall.Signal(i).String() }

// Client is one use of the program. Its fields say everything it takes from its
// surroundings.
type Client struct {
	Base       string // where requests, results and credential lie
	Session    string
	Capability string
	Dir        string // working directory inside, absolute
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer

	quiet bool
}

// Run does what args, without the program's name, ask for and returns the exit
// code. When ctx ends, the request is withdrawn.
func (c *Client) Run(ctx context.Context, args []string) int {
	o, err := parseOptions(args)
	if err != nil {
		c.say("%v", err)
		fmt.Fprintln(c.Stderr, "  see lazaret-escalate --help")
		return ExitUsage
	}
	c.quiet = o.quiet
	switch {
	case o.help:
		fmt.Fprint(c.Stdout, help)
		return 0
	case o.status:
		_, _ = io.Copy(io.Discard, c.Stdin) // a hook's input; its writer must not block
		return 0
	}
	code, err := c.ask(ctx, o)
	if err != nil {
		c.say("%v", err)
	}
	return code
}

// say writes one line of our own on standard error.
func (c *Client) say(format string, args ...any) {
	fmt.Fprintf(c.Stderr, "lazaret-escalate: "+format+"\n", args...)
}

// remark is a line a quiet run leaves out.
func (c *Client) remark(format string, args ...any) {
	if !c.quiet {
		c.say(format, args...)
	}
}

// options is a parsed command line.
type options struct {
	why          string
	timeout      time.Duration
	argv         []string
	quiet        bool
	help, status bool
}

var errNoCommand = errors.New("no command was given")

func parseOptions(args []string) (options, error) {
	var o options
	if len(args) > 0 && args[0] == "status" && len(args) == 2 {
		o.status = true
		return o, nil
	}
	for len(args) > 0 {
		name, value, joined := cutOption(args[0])
		switch name {
		case "--help", "-h":
			o.help = true
			return o, nil
		case "--quiet", "-q":
			o.quiet = true
			args = args[1:]
			continue
		case "--why", "--timeout", "-c":
			if args = args[1:]; !joined {
				if len(args) == 0 {
					return o, fmt.Errorf("%s needs a value", name)
				}
				value, args = args[0], args[1:]
			}
			if err := o.set(name, value); err != nil {
				return o, err
			}
			continue
		case "--":
			args = args[1:]
		default:
			if len(name) > 1 && name[0] == '-' {
				return o, fmt.Errorf("unknown option %s; put -- before the command", name)
			}
		}
		if len(args) == 0 {
			break
		}
		if o.argv != nil {
			return o, errors.New("-c already gives the command")
		}
		o.argv = args
		break
	}
	if len(o.argv) == 0 || o.argv[0] == "" {
		return o, errNoCommand
	}
	return o, nil
}

// cutOption splits --name=value.
func cutOption(arg string) (name, value string, joined bool) {
	if len(arg) < 3 || arg[:2] != "--" {
		return arg, "", false
	}
	for i := range len(arg) {
		if arg[i] == '=' {
			return arg[:i], arg[i+1:], true
		}
	}
	return arg, "", false
}

func (o *options) set(name, value string) (err error) {
	switch name {
	case "--why":
		o.why = value
	case "--timeout":
		if o.timeout, err = time.ParseDuration(value); err != nil || o.timeout <= 0 {
			return fmt.Errorf("--timeout %q is no duration such as 90s or 10m", value)
		}
	case "-c":
		if o.argv, err = splitWords(value); err != nil {
			return fmt.Errorf("-c %q: %w", value, err)
		}
	}
	return nil
}
