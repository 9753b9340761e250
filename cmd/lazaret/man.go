package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"lazaret.dev/lazaret/internal/fault"
)

// newManCommand writes the man pages of every command, for packagers.
func newManCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the man pages into a directory",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &fault.Error{Kind: fault.Usage, Message: "the directory cannot be made", Err: err}
			}
			header := &doc.GenManHeader{Title: "LAZARET", Section: "1", Source: "Lazaret", Manual: "Lazaret"}
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write man pages: %w", err)
			}
			return nil
		},
	}
}
