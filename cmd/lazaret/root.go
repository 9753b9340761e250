package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/coordinator/attach"
	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/host"
)

// statusError carries the exit status of a command `lazaret run` ran: it is not a
// failure of ours and nothing is printed for it.
type statusError int

func (statusError) Error() string { return "command ended with a non-zero status" }

func commandStatus(err error) (int, bool) {
	var s statusError
	ok := errors.As(err, &s)
	return int(s), ok
}

// newRootCommand wires every command. Each lives in a file of its own.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lazaret",
		Short: "Run AI coding agents without trusting them",
		Long: `Run AI coding agents in rootless gVisor sandboxes that share one workspace with
you and nothing else. Without a command, lazaret opens the dashboard for the
current folder.

Exit codes: 2 usage, 120 configuration, 121 host, 122 image, 123 the Domain runs
with another configuration, 124 workspace, 125 sandbox; else 1, or with
lazaret run the command's own.`,
		Example: `  lazaret            # the dashboard, with a session of the default profile
  lazaret run claude # one session in this terminal
  lazaret doctor     # what this host lacks, and how to get it`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return openDashboard(cmd)
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().String("config", "", "read this configuration file above all others")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &fault.Error{Kind: fault.Usage, Message: err.Error(), Fix: "see lazaret --help"}
	})
	root.AddCommand(
		newRunCommand(), newPsCommand(), newStatusCommand(), newStateCommand(),
		newConfigCommand(), newInitCommand(), newImageCommand(host.DetectIDs),
		newDoctorCommand(), newManCommand(root),
	)
	refuseWrongArguments(root)
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	fix := "see lazaret --help"
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		fix = fmt.Sprintf("did you mean lazaret %s?", strings.Join(near, " or lazaret "))
	}
	return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("there is no command %q", name), Fix: fix}
}

// refuseWrongArguments gives wrong arguments of every command the exit code of a
// usage error.
func refuseWrongArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &fault.Error{Kind: fault.Usage, Message: err.Error(), Fix: "see " + cmd.CommandPath() + " --help"}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		refuseWrongArguments(sub)
	}
}

func openDashboard(cmd *cobra.Command) error {
	if !attach.IsTerminal(os.Stdin) || !attach.IsTerminal(os.Stdout) {
		return &fault.Error{Kind: fault.Usage, Message: "the dashboard needs a terminal on standard input and output",
			Fix: "without one use: lazaret run"}
	}
	c, workspace, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	var ended []worktree.Outcome
	opener := newSessions(c, "", func(o worktree.Outcome) { ended = append(ended, o) })
	err = newDashboard(c, workspace, opener)(cmd.Context())
	opener.Wait() // now that the terminal is itself again
	for _, o := range ended {
		if o.Ending == worktree.Kept {
			writeOutcome(os.Stderr, o)
		}
	}
	return err
}
