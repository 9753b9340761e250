package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

// newConfigCommand is `lazaret config`.
func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, check and trust the configuration",
		Long: `Lazaret reads, lowest first, your configuration file, lazaret.toml in the
workspace, and the file named by --config. Because agents can write the
workspace, its file may only take away what the others grant until you have
trusted its exact content.`,
		Example: "  lazaret config show\n  lazaret config check\n  lazaret config trust",
		Args:    noArguments,
	}
	cmd.AddCommand(newConfigShowCommand(), newConfigCheckCommand(), newConfigTrustCommand())
	return cmd
}

// noArguments refuses what a command would silently ignore.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("%s takes no argument %q", cmd.CommandPath(), args[0]), Fix: "see " + cmd.CommandPath() + " --help"}
}

func newConfigShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [KEY-PREFIX]",
		Short: "Print every value in force and where it comes from",
		Long: `Prints the effective configuration for the current directory: each key, its
final value, and the file and line, recipe or default it comes from. Values
forwarded from your environment are never printed, only their names.`,
		Example: "  lazaret config show\n  lazaret config show profiles.claude\n  lazaret config show --json | jq .",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			entries := matching(c.Entries(), args)
			if len(entries) == 0 {
				return &fault.Error{Kind: fault.Config, Message: fmt.Sprintf("no key starts with %q", args[0]), Fix: "lazaret config show lists them all"}
			}
			if asJSON {
				return showJSON(cmd.OutOrStdout(), c, entries)
			}
			return showText(cmd.OutOrStdout(), entries)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func matching(entries []config.Entry, args []string) []config.Entry {
	if len(args) == 0 {
		return entries
	}
	var out []config.Entry
	for _, e := range entries {
		if strings.HasPrefix(e.Key, args[0]) {
			out = append(out, e)
		}
	}
	return out
}

func showText(w io.Writer, entries []config.Entry) error {
	b := bufio.NewWriter(w)
	for _, e := range entries {
		fmt.Fprintf(b, "%s = %s  # %s\n", e.Key, e.Text(), e.Source)
	}
	return b.Flush()
}

// shownValue and shown are the form of `config show --json`.
type shownValue struct {
	Value any    `json:"value"`
	Layer string `json:"layer"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

type shownFile struct {
	Layer   string `json:"layer"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Trusted bool   `json:"trusted"`
}

type shown struct {
	Workspace string                `json:"workspace"`
	Files     []shownFile           `json:"files"`
	Values    map[string]shownValue `json:"values"`
}

func showJSON(w io.Writer, c *config.Config, entries []config.Entry) error {
	out := shown{Workspace: c.Workspace, Files: []shownFile{}, Values: map[string]shownValue{}}
	for _, f := range c.Files {
		out.Files = append(out.Files, shownFile{string(f.Layer), f.Path, f.SHA256, f.Trusted})
	}
	for _, e := range entries {
		out.Values[e.Key] = shownValue{e.Value, string(e.Source.Layer), e.Source.File, e.Source.Line}
	}
	return indented(w, out)
}

func newConfigCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration, volumes of every profile included",
		Long: `Reads all layers as a launch would and names every problem with its file, its
line and the remedy. The exit code is 0 when a launch would accept all of it,
and 120 otherwise.`,
		Example: "  lazaret config check\n  lazaret --config ./ci.toml config check",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if errs := c.Check(); len(errs) > 0 {
				return &fault.Error{Kind: fault.Config, Message: "configuration refused", Fix: fault.FixOf(errors.Unwrap(errs[0])), Err: errors.Join(errs...)}
			}
			w := cmd.OutOrStdout()
			for _, f := range c.Files {
				note := ""
				if f.Trusted {
					note = ", trusted"
				}
				fmt.Fprintf(w, "read %q (%s%s)\n", f.Path, f.Layer, note)
			}
			for _, n := range c.Notices {
				fmt.Fprintf(w, "note: %s\n", n)
			}
			_, err = fmt.Fprintf(w, "ok: %d profiles\n", len(c.Profiles))
			return err
		},
	}
}

func newConfigTrustCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Accept the workspace's lazaret.toml as it is now",
		Long: `Shows what lazaret.toml in the current directory changes, asks, and then
accepts exactly the bytes it showed. Any later change to the file, by you or by
an agent, needs a new look. Never trust a file you have not read.`,
		Example: "  lazaret config trust\n  lazaret config trust --yes",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := configOptions(cmd)
			if err != nil {
				return err
			}
			r, err := config.ReadReview(o)
			if err != nil {
				return err
			}
			return trust(cmd.InOrStdin(), cmd.OutOrStdout(), r, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	return cmd
}

// trust shows r, asks, and records the answer.
func trust(in io.Reader, out io.Writer, r *config.Review, yes bool) error {
	fmt.Fprintf(out, "%q, sha256 %s\n", r.Path, r.SHA256)
	for _, c := range r.Changes {
		mark := "  "
		if c.Refused != "" {
			mark = "! "
		}
		fmt.Fprintf(out, "%sline %d: %s\n      now  %s\n      then %s\n", mark, c.Line, c.Key, orUnset(c.Old), orUnset(c.New))
	}
	if r.Trusted {
		_, err := fmt.Fprintln(out, "already trusted")
		return err
	}
	fmt.Fprintln(out, "Lines marked ! grant something, and need your trust.")
	if !yes {
		fmt.Fprint(out, "Trust exactly this file for this workspace? [y/N] ")
		answer, _ := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return &fault.Error{Kind: fault.Config, Message: "not trusted: nothing was recorded", Fix: "answer y, or give --yes"}
		}
	}
	if err := r.Accept(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "trusted")
	return err
}

func orUnset(s string) string {
	if s == "" {
		return "(not set)"
	}
	return s
}
