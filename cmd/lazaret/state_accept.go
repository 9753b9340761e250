package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

func newStateAcceptCommand() *cobra.Command {
	var yes, replace bool
	cmd := &cobra.Command{
		Use:   "accept PATH…",
		Short: "Take something held into the workspace",
		Long: `Shows exactly what would be taken where, asks, and then moves it from Domain
storage into the workspace. Files get the modes 0644 or 0755; links that lead out,
special files and hard links are refused, and so is a file of yours unless you give
--replace. If anything is not what was shown, nothing is taken.

Of a git directory only objects, references, HEAD, index, logs and a configuration
written anew (remotes over http and ssh, branches) are taken: no hooks, filters,
includes or unfinished rebases. A rule file (.gitignore) stays as it is; what it
reveals comes into force. Rule files, and directories other than git's, can be
accepted only while the Domain does not run.`,
		Example: `  lazaret state accept .envrc
  lazaret state accept vendor/lib/.git
  lazaret state accept --replace .vscode/tasks.json
  lazaret state accept --yes .gitignore`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeHeld,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := openStorage(cmd)
			if err != nil {
				return err
			}
			defer s.store.Close()
			paths, err := s.paths(args)
			if err != nil {
				return err
			}
			a := acceptance{storage: s, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), meter: newMeter(cmd.ErrOrStderr()), yes: yes, replace: replace}
			return a.run(paths)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a file of yours of the same name")
	return cmd
}

// completeHeld offers the paths that can be accepted.
func completeHeld(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := openStorage(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer s.store.Close()
	r, err := s.held(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, f := range r.Found {
		if f.Acceptable && !term.Suspicious(f.Path) {
			out = append(out, f.Path)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// acceptance is one `state accept`.
type acceptance struct {
	*storage
	in           io.Reader
	out          io.Writer
	meter        *meter
	yes, replace bool
	done         int64 // bytes read and written
}

func (a *acceptance) run(paths []string) error {
	ctx, stop := interruptible()
	defer stop()
	lock, ok, err := root.TryLock(root.AcceptLockPath(a.root))
	if err != nil {
		return err
	}
	if !ok {
		return &fault.Error{Kind: fault.Workspace, Message: "another lazaret state accept is at work in this Domain", Fix: "wait for it, or answer its question"}
	}
	defer lock.Close()
	place, err := a.place()
	if err != nil {
		return err
	}
	defer place.Tree.Close()
	if err := a.recover(); err != nil {
		return err
	}
	items, err := a.plan(ctx, place, paths)
	if err != nil {
		return err
	}
	for _, item := range items {
		describeItem(a.out, item)
	}
	if err := a.ask(); err != nil {
		return err
	}
	for _, item := range items {
		if err := a.apply(ctx, place, item); err != nil {
			return acceptFault(err)
		}
		fmt.Fprintf(a.out, "accepted %s\n", shownPath(string(item.Path)))
	}
	return nil
}

// recover puts back what an acceptance that was killed has left aside.
func (a *acceptance) recover() error {
	back, err := state.Recover(a.store)
	for _, at := range back {
		fmt.Fprintf(a.out, "an earlier acceptance was cut off: %s is held again\n", shownPath(at))
	}
	return acceptFault(err)
}

func (a *acceptance) plan(ctx context.Context, place state.Place, paths []string) ([]*state.Item, error) {
	defer a.meter.end()
	lock, running, err := a.domain()
	if err != nil {
		return nil, err
	}
	lock.Close()
	var items []*state.Item
	for _, at := range paths {
		item, err := state.Plan(ctx, place, at, a.options("looking", running))
		if err != nil {
			return nil, acceptFault(err)
		}
		items = append(items, item)
	}
	return items, nil
}

// apply does one item under the Domain lock, if nobody serves the Domain: no sandbox
// starts meanwhile.
func (a *acceptance) apply(ctx context.Context, place state.Place, item *state.Item) error {
	defer a.meter.end()
	lock, running, err := a.domain()
	if err != nil {
		return err
	}
	defer lock.Close()
	if running && item.Kind == state.TreeItem {
		return &state.Refusal{Path: string(item.Path), Reason: "the Domain has been started meanwhile", Fix: "end its sessions, then try again"}
	}
	return state.Apply(ctx, place, item, a.options("copying", running))
}

// domain takes the Domain lock, or says that the Domain runs. A nil lock can be closed.
func (a *acceptance) domain() (lock *os.File, running bool, err error) {
	lock, ok, err := root.TryLock(root.LockPath(a.root))
	return lock, !ok, err
}

// progressStep is how many bytes make the progress worth drawing again.
const progressStep = 16 << 20

func (a *acceptance) options(stage string, running bool) state.Options {
	o := state.Options{Replace: a.replace, Running: running}
	a.done = 0
	if a.meter.live {
		o.Progress = func(n int64) {
			before := a.done
			if a.done += n; before/progressStep != a.done/progressStep {
				a.meter.progress(stage+": "+byteSize(a.done), 0, 0)
			}
		}
	}
	return o
}

func (a *acceptance) ask() error {
	if a.yes {
		return nil
	}
	if !confirmed(a.in, a.out, "Take exactly this into the workspace?") {
		return &fault.Error{Kind: fault.General, Message: "not accepted: nothing was changed", Fix: "answer y, or give --yes"}
	}
	return nil
}

// confirmed asks, and takes nothing but a yes for one.
func confirmed(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question+" [y/N] ")
	answer, _ := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n')
	s := strings.ToLower(strings.TrimSpace(answer))
	return s == "y" || s == "yes"
}

// acceptFault gives a refusal the form of an error a person sees.
func acceptFault(err error) error {
	var r *state.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &r):
		return &fault.Error{Kind: fault.General, Message: fmt.Sprintf("%s is not accepted: %s", shownPath(r.Path), term.Sanitize(r.Reason)), Fix: term.Sanitize(r.Fix)}
	case errors.Is(err, state.ErrUnreadable):
		return &fault.Error{Kind: fault.General, Message: term.Sanitize(err.Error()), Fix: "inside, as root: chown -R root PATH and chmod -R u+rwX PATH; then accept it again"}
	}
	return err
}

// maxShown bounds how many lines of a file, or of pieces, are shown.
const maxShown = 40

// describeItem shows what would be taken.
func describeItem(w io.Writer, item *state.Item) {
	at := shownPath(string(item.Path))
	fmt.Fprintf(w, "%s: %s, %s\n", at, item.Kind, byteSize(item.Bytes))
	for _, p := range item.Parents {
		fmt.Fprintf(w, "  makes the directory %s/\n", shownPath(string(p)))
	}
	switch item.Kind {
	case state.RuleItem:
		how := "stays as it is; these rules come into force"
		if item.Removal {
			how = "was removed; its rules go out of force"
		}
		fmt.Fprintf(w, "  %s:\n", how)
		writeLines(w, "  - ", item.Was)
		writeLines(w, "  + ", item.Pieces[0].Text)
	case state.FileItem:
		describeFile(w, item)
	default:
		describeTree(w, item)
	}
	for _, v := range item.Vetted {
		describeVetted(w, at, v)
	}
}

func describeFile(w io.Writer, item *state.Item) {
	mode := "0644"
	if item.Pieces[0].Exec {
		mode = "0755, executable"
	}
	fmt.Fprintf(w, "  goes to %s in the workspace, mode %s\n", shownPath(string(item.Path)), mode)
	if item.Replaces {
		fmt.Fprintln(w, "  REPLACES your file of that name")
	}
	writeLines(w, "  | ", item.Preview)
}

func describeTree(w io.Writer, item *state.Item) {
	counts := map[state.Type]int{}
	for _, p := range item.Pieces {
		counts[p.Type]++
	}
	fmt.Fprintf(w, "  goes to %s in the workspace: %d files, %d directories, %d links\n", shownPath(string(item.Path)),
		counts[state.File]+counts[state.Text], counts[state.Dir], counts[state.Link])
	if item.Kind == state.GitItem {
		return
	}
	shown := 0
	for _, p := range item.Pieces {
		if p.Type == state.Dir {
			continue
		}
		if shown++; shown > maxShown {
			fmt.Fprintln(w, "    …")
			return
		}
		line := shownPath(string(p.Path))
		if p.Exec {
			line += "  (executable)"
		}
		if p.Type == state.Link {
			line += " -> " + shownPath(string(p.Target))
		}
		fmt.Fprintf(w, "    %s\n", line)
	}
}

func describeVetted(w io.Writer, at string, v state.Vetted) {
	if len(v.Path) > 0 {
		fmt.Fprintf(w, "  git directory %s/%s:\n", at, shownPath(string(v.Path)))
	}
	fmt.Fprintln(w, "  its configuration will be:")
	writeLines(w, "  | ", []byte(v.Config))
	if len(v.Dropped) > 0 {
		fmt.Fprintln(w, "  left out:")
	}
	for _, name := range v.Dropped {
		fmt.Fprintf(w, "    %s\n", shownPath(name))
	}
}

// writeLines shows a text of the sandbox's, made harmless and bounded.
func writeLines(w io.Writer, prefix string, text []byte) {
	n := 0
	for line := range strings.Lines(term.SanitizeLines(string(text))) {
		if n++; n > maxShown {
			fmt.Fprintf(w, "%s…\n", prefix)
			return
		}
		fmt.Fprintf(w, "%s%s\n", prefix, strings.TrimSuffix(line, "\n"))
	}
}
