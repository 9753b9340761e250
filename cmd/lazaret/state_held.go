package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/safefs"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

func newStateHeldCommand() *cobra.Command {
	var asJSON, ignored bool
	cmd := &cobra.Command{
		Use:   "held",
		Short: "List what is held in Domain storage and not in the workspace",
		Long: `Lists what the sandbox made that stays in Domain storage until you accept it:
git directories, files your tools would run or obey, and what looks like a secret.
What git ignores is summed up in one line. Nothing of it is on the host side of the
workspace.`,
		Example: `  lazaret state held
  lazaret state held --ignored
  lazaret state held --json | jq -r '.held[] | select(.acceptable) | .path'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := openStorage(cmd)
			if err != nil {
				return err
			}
			defer s.store.Close()
			r, err := s.held(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return heldJSON(cmd.OutOrStdout(), s.profile, r)
			}
			return heldText(cmd.OutOrStdout(), r, ignored)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&ignored, "ignored", false, "also list each ignored file and directory")
	return cmd
}

// maxIgnoreFile bounds the developer's own ignore rules.
const maxIgnoreFile = 1 << 20

func (s *storage) held(cmd *cobra.Command) (state.Report, error) {
	place, err := s.place()
	if err != nil {
		return state.Report{}, err
	}
	defer place.Tree.Close()
	ctx, stop := interruptible()
	defer stop()
	meter := newMeter(cmd.ErrOrStderr())
	defer meter.end()
	o := state.HeldOptions{Global: globalIgnore(), Progress: func(n int64) { meter.progress(fmt.Sprintf("looking: %d entries", n), 0, 0) }}
	if !meter.live {
		o.Progress = nil
	}
	if p, err := s.config.Profile(s.profile); err == nil {
		o.Secrets = p.Workspace.Secrets
	}
	r, err := state.Held(ctx, place, o)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = &fault.Error{Kind: fault.Workspace, Message: "Domain storage cannot be read", Err: err, Fix: "look at " + filepath.Join(s.root, state.Folder)}
	}
	return r, err
}

// globalIgnore is git's usual place of a developer's own ignore rules; none when
// there is no such file.
func globalIgnore() []byte {
	base := os.Getenv("XDG_CONFIG_HOME")
	if base == "" {
		base = filepath.Join(os.Getenv("HOME"), ".config")
	}
	dir, err := os.Open(filepath.Join(base, "git"))
	if err != nil {
		return nil
	}
	defer dir.Close()
	data, err := safefs.ReadAt(dir, "ignore", maxIgnoreFile)
	if err != nil {
		return nil
	}
	return data
}

func heldText(w io.Writer, r state.Report, ignored bool) error {
	writeFound(w, "waits to be accepted (lazaret state accept PATH):", r.Found, true)
	writeFound(w, "stays in Domain storage:", r.Found, false)
	if len(r.Found) == 0 {
		fmt.Fprintln(w, "Nothing waits to be accepted.")
	}
	if len(r.Ignored) > 0 {
		bytes, entries := total(r.Ignored)
		fmt.Fprintf(w, "ignored by git: %s, entries: %d, places: %d\n", byteSize(bytes), entries, len(r.Ignored))
	}
	if ignored {
		writeFound(w, "", r.Ignored, true)
	}
	if r.Unread > 0 {
		fmt.Fprintf(w, "%d places belong to other users of the sandbox and were not looked into\n", r.Unread)
	}
	if r.More {
		fmt.Fprintln(w, "there is more: the walk ended at its bound")
	}
	return nil
}

func total(list []state.Found) (bytes, entries int64) {
	for _, f := range list {
		bytes += f.Bytes
		entries += f.Entries + 1
	}
	return bytes, entries
}

func writeFound(w io.Writer, title string, list []state.Found, acceptable bool) {
	for _, f := range list {
		if f.Acceptable != acceptable {
			continue
		}
		if title != "" {
			fmt.Fprintln(w, title)
			title = ""
		}
		at, more := shownPath(f.Path), ""
		if f.Directory {
			at += "/"
		}
		if f.More {
			more = "+"
		}
		fmt.Fprintf(w, "  %-14s  %10s  %s\n", f.Class, byteSize(f.Bytes)+more, at)
	}
}

// foundJSON is one entry of `state held --json`.
type foundJSON struct {
	Path       string      `json:"path"`
	Class      state.Class `json:"class"`
	Directory  bool        `json:"directory,omitempty"`
	Bytes      int64       `json:"bytes"`
	Entries    int64       `json:"entries,omitempty"`
	More       bool        `json:"more,omitempty"`
	Acceptable bool        `json:"acceptable"`
}

func heldJSON(w io.Writer, profile string, r state.Report) error {
	list := func(found []state.Found) []foundJSON {
		out := []foundJSON{}
		for _, f := range found {
			out = append(out, foundJSON(f))
		}
		return out
	}
	bytes, entries := total(r.Ignored)
	return indented(w, struct {
		Profile        string      `json:"profile"`
		Held           []foundJSON `json:"held"`
		Ignored        []foundJSON `json:"ignored"`
		IgnoredBytes   int64       `json:"ignored_bytes"`
		IgnoredEntries int64       `json:"ignored_entries"`
		Unread         int64       `json:"unread"`
		More           bool        `json:"more"`
	}{profile, list(r.Found), list(r.Ignored), bytes, entries, r.Unread, r.More})
}
