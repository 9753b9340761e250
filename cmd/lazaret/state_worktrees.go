package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/attach"
	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
)

func newStateWorktreesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "worktrees",
		Short: "List the worktrees that sessions of this workspace have or left",
		Long: `Lists the worktrees of sessions whose profile has git.mode = "worktree": those in
use, and those that were kept because something is left in them.`,
		Example: `  lazaret state worktrees
  lazaret state worktrees --json | jq -r '.[] | select(.running | not) | .branch'
  lazaret state worktrees remove fix-login`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := interruptible()
			defer stop()
			list, err := keeper(c).List(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return worktreesJSON(cmd.OutOrStdout(), list)
			}
			return worktreesText(cmd.OutOrStdout(), list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(newWorktreesRemoveCommand())
	return cmd
}

// interruptible ends with an interrupt, and with it the git that runs.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
}

func worktreesText(w io.Writer, list []worktree.Report) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No session of this workspace has a worktree or left one.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROFILE\tSTATE\tCONTENTS\tBRANCH\tFOLDER")
	for _, r := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Profile, worktreeState(r), contents(r), r.Branch, r.Path)
	}
	return table.Flush()
}

func worktreeState(r worktree.Report) string {
	switch {
	case r.Running:
		return "in use"
	case r.Missing != nil:
		return "missing"
	}
	return "kept"
}

// worktreeJSON is one entry of `state worktrees --json`.
type worktreeJSON struct {
	Name    string   `json:"name"`
	Profile string   `json:"profile"`
	Branch  string   `json:"branch"`
	Base    string   `json:"base"`
	Folder  string   `json:"folder"`
	State   string   `json:"state"`
	Running bool     `json:"running"`
	Commits int      `json:"commits"`
	Changed []string `json:"changed"`
	Staged  bool     `json:"staged"`
	Held    int      `json:"held"`
	On      string   `json:"on,omitempty"`
}

func worktreesJSON(w io.Writer, list []worktree.Report) error {
	out := []worktreeJSON{}
	for _, r := range list {
		out = append(out, worktreeJSON{
			Name: r.Name, Profile: r.Profile, Branch: r.Branch, Base: r.Base, Folder: r.Path, State: worktreeState(r), Running: r.Running,
			Commits: r.Commits, Changed: append([]string{}, r.Changed...), Staged: r.Staged, Held: r.Held, On: r.On,
		})
	}
	return indented(w, out)
}

func newWorktreesRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a worktree and its branch, with all that is in them",
		Long: `Shows what would be lost (commits no other branch has, changes that are not
committed, what is held back), asks, and removes the worktree, its branch and what
its sandbox holds back.`,
		Example: `  lazaret state worktrees remove fix-login
  lazaret state worktrees remove --yes 3`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeWorktrees,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := interruptible()
			defer stop()
			return removeWorktree(ctx, cmd, keeper(c), args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove without asking")
	return cmd
}

func removeWorktree(ctx context.Context, cmd *cobra.Command, k worktree.Keeper, name string, yes bool) error {
	r, err := k.Report(ctx, name)
	if err != nil {
		return err
	}
	if r.Running {
		return &fault.Error{Kind: fault.Workspace, Message: "worktree " + name + " is in use", Fix: "end its sessions first; lazaret status shows them"}
	}
	log, err := k.Log(ctx, name)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	writeLoss(out, r, log)
	if !yes && !confirmed(cmd.InOrStdin(), out, "Remove all of it?") {
		return &fault.Error{Kind: fault.General, Message: "not removed: nothing was changed", Fix: "answer y, or give --yes"}
	}
	stays, err := k.Remove(ctx, name)
	if err != nil {
		return err
	}
	if stays {
		fmt.Fprintf(out, "branch %s is checked out elsewhere, or stands for another: it stays\n", r.Branch)
	}
	fmt.Fprintf(out, "removed worktree %s\n", name)
	return nil
}

// writeLoss says what goes with a work tree.
func writeLoss(w io.Writer, r worktree.Report, log string) {
	fmt.Fprintf(w, "worktree %s in %s, branch %s\n", r.Name, r.Path, r.Branch)
	if r.Missing != nil {
		fmt.Fprintf(w, "  %v\n", r.Missing)
	}
	if log != "" {
		fmt.Fprintln(w, "  commits that no other branch has:")
		writeLines(w, "    ", []byte(log))
	}
	if len(r.Changed) > 0 {
		var list strings.Builder
		for _, path := range r.Changed {
			list.WriteString(shownPath(path) + "\n")
		}
		fmt.Fprintln(w, "  not committed:")
		writeLines(w, "    ", []byte(list.String()))
	}
	if r.Staged {
		fmt.Fprintln(w, "  its index holds what is not committed")
	}
	if r.Held > 0 {
		fmt.Fprintf(w, "  held back: %d (lazaret state held --worktree %s)\n", r.Held, r.Name)
	}
	if log == "" && r.Empty() {
		fmt.Fprintln(w, "  nothing is lost")
	}
}

func completeWorktrees(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, _, err := loadConfig(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := keeper(c).Names()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newStateDiffCommand() *cobra.Command {
	var stat bool
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what a worktree holds beyond the commit it began with",
		Long: `Shows the difference between the commit a session's worktree began with and what
is in the worktree now: committed or not, tracked or new. Git's filters, external
diffs and text conversions do not run, and the sandbox's own index is not believed.
What is held back is not in it: see lazaret state held --worktree NAME.

On a terminal bytes that steer it are shown as text; elsewhere they are left as
they are, for git apply.`,
		Example: `  lazaret state diff fix-login
  lazaret state diff --stat 3
  lazaret state diff 3 | git apply`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeWorktrees,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := interruptible()
			defer stop()
			out := cmd.OutOrStdout()
			if f, ok := out.(*os.File); !ok || !attach.IsTerminal(f) {
				return keeper(c).Diff(ctx, args[0], stat, out)
			}
			lines := &plainLines{out: out}
			err = keeper(c).Diff(ctx, args[0], stat, lines)
			if flushed := lines.flush(); err == nil {
				err = flushed
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only how much changed in each file")
	return cmd
}

// plainLines writes text of the sandbox's so that it cannot steer a terminal.
type plainLines struct {
	out  io.Writer
	rest []byte // of a line that has not ended, at most maxLine bytes
}

const maxLine = 64 << 10

func (p *plainLines) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	end := strings.LastIndexByte(string(p.rest), '\n') + 1
	if end == 0 && len(p.rest) > maxLine {
		end = len(p.rest)
	}
	return len(b), p.emit(end)
}

// flush writes what is left.
func (p *plainLines) flush() error { return p.emit(len(p.rest)) }

func (p *plainLines) emit(n int) error {
	_, err := io.WriteString(p.out, term.SanitizeLines(string(p.rest[:n])))
	p.rest = append(p.rest[:0], p.rest[n:]...)
	return err
}
