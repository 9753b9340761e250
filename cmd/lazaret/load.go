package main

import (
	"os"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

// loadConfig loads the configuration for the current directory, which is the
// Agent Workspace, honouring --config. workspace is its canonical path.
func loadConfig(cmd *cobra.Command) (c *config.Config, workspace string, err error) {
	o, err := configOptions(cmd)
	if err != nil {
		return nil, "", err
	}
	c, err = config.Load(o)
	if err != nil {
		return nil, "", err
	}
	return c, c.Workspace, nil
}

// configOptions says what the command line and the process's surroundings ask for.
func configOptions(cmd *cobra.Command) (config.Options, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return config.Options{}, &fault.Error{
			Kind: fault.Workspace, Message: "the current directory cannot be used as the workspace", Err: err,
			Fix: "change to a directory that exists",
		}
	}
	o := config.Options{Workspace: cwd, Environ: os.Environ(), UID: os.Getuid()}
	if f := cmd.Flag("config"); f != nil {
		o.Flag = f.Value.String()
		if f.Changed && o.Flag == "" {
			return o, &fault.Error{Kind: fault.Usage, Message: "--config names no file", Fix: "give it a path, or leave it out"}
		}
	}
	return o, nil
}
