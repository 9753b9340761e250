package main

import (
	"fmt"
	"io"
	"os"

	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/views"
)

// newSessions returns what opens sessions, in work trees of their own where the profile
// says so; told hears what became of each.
func newSessions(c *config.Config, resume string, told func(worktree.Outcome)) *worktree.Opener {
	return &worktree.Opener{Config: c, Environ: os.Environ(), Spawn: newOpener, Resume: resume, Told: told}
}

// keeper is the work trees of the workspace c was loaded for.
func keeper(c *config.Config) worktree.Keeper { return worktree.ForConfig(c, os.Environ()) }

// writeOutcome says what became of a work tree when its session ended.
func writeOutcome(w io.Writer, o worktree.Outcome) {
	switch r := o.Report; {
	case o.Ending == worktree.InUse:
		fmt.Fprintf(w, "lazaret: worktree %s is in use by other sessions\n", r.Name)
	case o.Ending == worktree.Removed:
		fmt.Fprintf(w, "lazaret: nothing was left in worktree %s: it is removed\n", r.Name)
	case o.Err != nil:
		fmt.Fprintf(w, "lazaret: worktree %s is kept: %v\n", r.Name, o.Err)
		writeFix(w, o.Err)
		writeWays(w, r)
	case r.Missing != nil:
		fmt.Fprintf(w, "lazaret: %v\n", r.Missing)
		writeFix(w, r.Missing)
	default:
		fmt.Fprintf(w, "lazaret: worktree %s is kept: %s\n", r.Name, contents(r))
		writeWays(w, r)
	}
}

func writeFix(w io.Writer, err error) {
	if fix := fault.FixOf(err); fix != "" {
		fmt.Fprintf(w, "  fix: %s\n", fix)
	}
}

// writeWays says what a developer can do with a work tree that is kept.
func writeWays(w io.Writer, r worktree.Report) {
	fmt.Fprintf(w, "  its folder  %s\n", r.Path)
	fmt.Fprintf(w, "  see it      lazaret state diff %s\n", r.Name)
	if r.Held > 0 {
		fmt.Fprintf(w, "  held back   lazaret state held --worktree %s\n", r.Name)
	}
	fmt.Fprintf(w, "  go on       lazaret run --resume %s\n", r.Name)
	if len(r.Changed) > 0 || r.Staged {
		at := views.QuoteArgv([]string{r.Path})
		fmt.Fprintf(w, "  commit it   git -C %s add -A && git -C %s commit\n", at, at)
	}
	fmt.Fprintf(w, "  take it     git merge %s\n", r.Branch)
	fmt.Fprintf(w, "  drop it     lazaret state worktrees remove %s\n", r.Name)
}

// contents says in a few words what is in a work tree.
func contents(r worktree.Report) string {
	out := ""
	add := func(n int, one, many string) {
		if n == 0 {
			return
		}
		if out != "" {
			out += ", "
		}
		if n > 1 {
			one = many
		}
		out += fmt.Sprintf("%d %s", n, one)
	}
	add(r.Commits, "commit", "commits")
	add(len(r.Changed), "change not committed", "changes not committed")
	if r.Staged && len(r.Changed) == 0 {
		add(1, "index that is not committed", "")
	}
	add(r.Held, "entry held back", "entries held back")
	if out == "" {
		return "nothing"
	}
	if r.Commits > 0 && r.On != r.Branch && r.Missing == nil {
		out += "; checked out is " + checkedOut(r)
	}
	return out
}

func checkedOut(r worktree.Report) string {
	if r.On == "" {
		return "no branch"
	}
	return shownPath(r.On)
}
