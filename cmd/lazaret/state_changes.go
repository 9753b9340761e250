package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func newStateChangesCommand() *cobra.Command {
	var asJSON, all, mark bool
	var since string
	cmd := &cobra.Command{
		Use:   "changes [PATH…]",
		Short: "List what the sandbox created, changed, renamed and removed",
		Long: `Lists what the sandbox did to the shared files of the workspace, once per path,
newest last. What your tools run or obey comes first. A running sandbox's changes
are at most a second old.

Marks: "looked" is where you last gave --mark, "generation" is the last start of a
sandbox. The journal remembers 20,000 paths and says where it had to forget some.`,
		Example: `  lazaret state changes
  lazaret state changes --since looked --mark
  lazaret state changes --since generation src docs
  lazaret state changes --json | jq '.changes[] | select(.mark != "")'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := openStorage(cmd)
			if err != nil {
				return err
			}
			defer s.store.Close()
			v, err := s.changes(since, args)
			if err != nil {
				return err
			}
			print := v.text
			if asJSON {
				print = v.json
			}
			if err := print(cmd.OutOrStdout(), all); err != nil || !mark {
				return err
			}
			return root.WriteLooked(s.root, v.journal.Here(time.Now()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list what was created and removed again")
	cmd.Flags().StringVar(&since, "since", "", `only what happened after this mark: "looked", "generation"`)
	cmd.Flags().BoolVar(&mark, "mark", false, `set the mark "looked" to what was just listed`)
	_ = cmd.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]string{journal.Looked, journal.Generation}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// changesView is what `state changes` prints.
type changesView struct {
	profile string
	journal *journal.Journal
	entries []journal.Entry // newest last
	marks   map[string]journal.Point
}

func (s *storage) changes(since string, args []string) (*changesView, error) {
	prefixes, err := s.paths(args)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(s.store)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Workspace, Message: "the journal cannot be read back", Err: err,
			Fix: "look at the files with git status; the journal begins anew with the next session"}
	}
	v := &changesView{profile: s.profile, journal: j, marks: j.Marks()}
	looked, err := root.Looked(s.root)
	if err == nil {
		v.marks[journal.Looked] = looked
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	from, err := v.point(since)
	if err != nil {
		return nil, err
	}
	for _, e := range j.Changes(from, "") {
		if len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return journal.Beneath(e.Path, p) }) {
			v.entries = append(v.entries, e)
		}
	}
	return v, nil
}

func (v *changesView) point(name string) (journal.Point, error) {
	p, ok := v.marks[name]
	if name == "" || ok || name == journal.Looked { // never looked: everything is new
		return p, nil
	}
	fix := "there is none yet: set one with --mark"
	if len(v.marks) > 0 {
		fix = "marks: " + strings.Join(slices.Sorted(maps.Keys(v.marks)), ", ")
	}
	return journal.Point{}, &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("there is no mark %q", name), Fix: fix}
}

// sections are the groups of the list, what matters most first.
var sections = []struct {
	mark        route.Mark
	name, title string
}{
	{route.Runs, "runs", "run or obeyed by your tools"},
	{route.Rules, "rules", "change what is ignored"},
	{route.Script, "script", "executable, or build files"},
	{route.Plain, "", "other files"},
}

func (v *changesView) text(w io.Writer, all bool) error {
	undone, listed := 0, false
	for _, section := range sections {
		titled := false
		for _, e := range v.entries {
			if e.Mark != section.mark {
				continue
			}
			if e.Undone() && e.Mark == route.Plain && !all {
				undone++
				continue
			}
			if !titled {
				fmt.Fprintf(w, "%s:\n", section.title)
				titled, listed = true, true
			}
			if _, err := fmt.Fprintf(w, "  %s  %-8s  %s\n", e.Latest.Local().Format("Jan 02 15:04:05"), happened(e), describePath(e)); err != nil {
				return err
			}
		}
	}
	if !listed {
		fmt.Fprintln(w, "The sandbox changed nothing.")
	}
	if undone > 0 {
		fmt.Fprintf(w, "%d created and removed again (--all lists them)\n", undone)
	}
	dropped := v.journal.Dropped()
	for _, dir := range slices.Sorted(maps.Keys(dropped)) {
		where := "elsewhere"
		if dir != "" {
			where = "in " + shownPath(dir)
		}
		fmt.Fprintf(w, "%d older changes %s are forgotten\n", dropped[dir], where)
	}
	return nil
}

// happened says in a word what became of a path.
func happened(e journal.Entry) string {
	switch {
	case e.Undone():
		return "undone"
	case e.Last == journal.Removed:
		return "removed"
	case e.Kinds.Has(journal.Created):
		return "created"
	case e.Kinds.Has(journal.Renamed):
		return "renamed"
	}
	return "changed"
}

func describePath(e journal.Entry) string {
	out := shownPath(e.Path)
	if e.Directory {
		out += "/"
	}
	if e.From != "" {
		out += " (from " + shownPath(e.From) + ")"
	}
	return out
}

// changeJSON is one entry of `state changes --json`.
type changeJSON struct {
	Path      string    `json:"path"`
	What      string    `json:"what"`
	Kinds     []string  `json:"kinds"`
	From      string    `json:"from,omitempty"`
	Directory bool      `json:"directory,omitempty"`
	Mark      string    `json:"mark"`
	Session   string    `json:"session,omitempty"`
	First     time.Time `json:"first"`
	Latest    time.Time `json:"latest"`
}

func (v *changesView) json(w io.Writer, _ bool) error {
	out := struct {
		Profile string               `json:"profile"`
		Changes []changeJSON         `json:"changes"`
		Dropped map[string]uint64    `json:"forgotten"`
		Marks   map[string]time.Time `json:"marks"`
	}{v.profile, []changeJSON{}, v.journal.Dropped(), map[string]time.Time{}}
	for name, p := range v.marks {
		out.Marks[name] = p.Time.UTC()
	}
	for _, e := range v.entries {
		out.Changes = append(out.Changes, changeJSON{
			Path: e.Path, What: happened(e), Kinds: kindNames(e.Kinds), From: e.From, Directory: e.Directory,
			Mark: markName(e.Mark), Session: string(e.Session), First: e.First.UTC(), Latest: e.Latest.UTC(),
		})
	}
	return indented(w, out)
}

func kindNames(k journal.Kind) []string {
	out := []string{}
	for _, n := range []struct {
		kind journal.Kind
		name string
	}{{journal.Created, "created"}, {journal.Changed, "changed"}, {journal.Renamed, "renamed"}, {journal.Removed, "removed"}} {
		if k.Has(n.kind) {
			out = append(out, n.name)
		}
	}
	return out
}

func markName(m route.Mark) string {
	for _, s := range sections {
		if s.mark == m {
			return s.name
		}
	}
	return ""
}
