package main

import (
	"errors"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/fault"
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
		Use:           "lazaret",
		Short:         "Run AI coding agents without trusting them",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().String("config", "", "read this configuration file above all others")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &fault.Error{Kind: fault.Usage, Message: err.Error(), Fix: "see lazaret --help"}
	})
	root.AddCommand()
	return root
}
