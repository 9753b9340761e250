package changes

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// maxEntries bounds the walk through Domain storage: somebody waits for it.
const maxEntries = 200_000

// Report is one look.
type Report struct {
	// Entries are what is new: what host tools run or obey first, then what changes the
	// rules of git, then scripts and build files, then the rest; each newest first.
	Entries   []journal.Entry
	Forgotten uint64 // changes the journal had no room for
	Waiting   int    // held, and to be accepted
	// More says that more may wait: the walk ended at its bound, or could not go on.
	More bool

	root string
	here journal.Point
}

// Options is what a look has to know of the profile and the developer.
type Options struct {
	Secrets []string // patterns of file names (workspace.secrets)
	Global  []byte   // the developer's own ignore rules, may be nil
}

// Look reads what is new in the Domain with this root.
func Look(ctx context.Context, domainRoot string, o Options) (Report, error) {
	j, err := root.Journal(domainRoot)
	if err != nil {
		return Report{}, err
	}
	// A record that is missing or damaged hides nothing.
	since, _ := root.Looked(domainRoot)
	r := Report{root: domainRoot, here: j.Here(time.Now())}
	for _, e := range j.Changes(since, "") {
		if !e.Undone() || e.Mark != route.Plain {
			r.Entries = append(r.Entries, e)
		}
	}
	slices.SortFunc(r.Entries, func(a, b journal.Entry) int {
		return cmp.Or(cmp.Compare(rank(a.Mark), rank(b.Mark)), cmp.Compare(b.Seq, a.Seq))
	})
	for _, n := range j.Dropped() {
		r.Forgotten += n
	}
	return r, r.wait(ctx, o)
}

func rank(m route.Mark) int {
	return slices.Index([]route.Mark{route.Runs, route.Rules, route.Script, route.Plain}, m)
}

// wait counts what waits to be accepted. Errors: the context's.
func (r *Report) wait(ctx context.Context, o Options) error {
	_, _, workspace, err := root.Identity(r.root)
	if err != nil {
		r.More = true
		return nil
	}
	tree, err := os.Open(workspace)
	if err != nil {
		r.More = true
		return nil
	}
	defer tree.Close()
	store, err := state.OpenStore(r.root)
	if err != nil {
		return nil // no sandbox ever held anything
	}
	defer store.Close()
	held, err := state.Held(ctx, state.Place{Store: store, Tree: tree},
		state.HeldOptions{Secrets: o.Secrets, Global: o.Global, MaxEntries: maxEntries})
	for _, f := range held.Found {
		if f.Acceptable {
			r.Waiting++
		}
	}
	r.More = held.More || err != nil
	return ctx.Err()
}

// Seen records that the developer has seen what is in the report.
func (r Report) Seen() error { return root.WriteLooked(r.root, r.here) }
