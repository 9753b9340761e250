package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/config"
)

// newInitCommand is `lazaret init`.
func newInitCommand() *cobra.Command {
	var onlyPrint bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented configuration file with ready profiles",
		Long: `Writes your configuration file (~/.config/lazaret/config.toml, or below
XDG_CONFIG_HOME) with every key explained and profiles for a shell, Claude Code,
Codex, Gemini CLI and opencode. It never overwrites a file. Lazaret works without
it: the profiles are built in.`,
		Example: "  lazaret init\n  lazaret init --print | less",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onlyPrint {
				_, err := io.WriteString(cmd.OutOrStdout(), config.Template)
				return err
			}
			o, err := configOptions(cmd)
			if err != nil {
				return err
			}
			path, err := config.UserFile(o)
			if err != nil {
				return err
			}
			if err := config.WriteTemplate(path); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %q\nnext: lazaret, or lazaret run claude\n", path)
			return err
		},
	}
	cmd.Flags().BoolVar(&onlyPrint, "print", false, "print the file instead of writing it")
	return cmd
}
