package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/runtime/host"
)

// newDoctorCommand is `lazaret doctor`.
func newDoctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Try what a sandbox needs of this host, and say how to get what is missing",
		Long: `Performs the operations a launch depends on: makes namespaces, maps ids, mounts
an overlay on the Storage Root's file system, opens a tap device, installs a
network policy, and asks slirp4netns and runsc what they can do. Nothing of it
stays. Each problem comes with the exact fix for this distribution; none is
applied.

A line marked "warn" limits what sandboxes can do, one marked "FAIL" keeps them
from starting. The exit code is 0 without failures and 121 with any.`,
		Example: `  lazaret doctor
  lazaret doctor --json | jq '.checks[] | select(.status != "ok")'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := host.Run(cmd.Context(), doctorOptions(cmd))
			print := printChecks
			if asJSON {
				print = printChecksJSON
			}
			if err := print(cmd.OutOrStdout(), checks); err != nil {
				return err
			}
			return host.Failed(checks)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// doctorOptions takes the places from the configuration. A configuration that is
// refused must not keep the host from being examined, so the defaults then serve.
func doctorOptions(cmd *cobra.Command) host.Options {
	var o host.Options
	c, _, err := loadConfig(cmd)
	if err == nil {
		o.StorageRoot = c.Storage.DataRoot
		o.RuntimeDir, err = c.RuntimeDir()
	}
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lazaret: %v\n  the checks go on with default places\n", err)
	}
	if o.StorageRoot == "" {
		home, _ := os.UserHomeDir() // "" makes it relative to the root, which is where the check then looks
		o.StorageRoot = filepath.Join("/", home, ".local", "share", "lazaret")
	}
	if o.RuntimeDir == "" {
		if o.RuntimeDir, err = config.RuntimeDir("", os.Environ(), os.Getuid()); err != nil {
			o.RuntimeDir = os.TempDir()
		}
	}
	o.Runsc, o.RunscErr = companion("runsc")
	return o
}

func printChecks(w io.Writer, checks []host.Check) error {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	marks := map[host.Status]string{host.OK: "ok  ", host.Warn: "warn", host.Fail: "FAIL"}
	for _, c := range checks {
		if _, err := fmt.Fprintf(w, "%s  %-*s  %s\n", marks[c.Status], width, c.Name, c.Detail); err != nil {
			return err
		}
		if c.Fix != "" {
			fmt.Fprintf(w, "      %*s  fix: %s\n", width, "", c.Fix)
		}
	}
	return nil
}

func printChecksJSON(w io.Writer, checks []host.Check) error {
	return indented(w, struct {
		Ready  bool         `json:"ready"`
		Checks []host.Check `json:"checks"`
	}{host.Failed(checks) == nil, checks})
}
