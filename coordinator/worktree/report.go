package worktree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/hostgit"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// Report is what a work tree holds beyond the commit it began with.
type Report struct {
	Name, Profile, Branch, Path, Base string

	Running bool // somebody has a session in it, or is closing it
	// Missing says why the work tree is not where it was made; then only what the branch
	// has is known.
	Missing *fault.Error
	// On is the branch that is checked out, "" for a detached HEAD.
	On      string
	Commits int      // on its branch, and on a detached HEAD
	Changed []string // paths changed, made or removed and not committed
	Staged  bool     // its index holds what is not committed
	Held    int      // what waits in Domain storage for `lazaret state accept`
}

// Empty says whether removing the work tree and its branch loses nothing.
func (r Report) Empty() bool {
	return r.Commits == 0 && len(r.Changed) == 0 && !r.Staged && r.Held == 0
}

// List returns a report of every work tree of the workspace, by name.
func (k Keeper) List(ctx context.Context) ([]Report, error) {
	names, err := k.Names()
	if err != nil {
		return nil, err
	}
	var out []Report
	for _, name := range names {
		r, err := k.Report(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Report looks at one work tree. It changes nothing, and may be called while sessions run
// in it. Its error is of kind Usage when there is none of that name.
func (k Keeper) Report(ctx context.Context, name string) (Report, error) {
	r, err := k.known(name)
	if err != nil {
		return Report{}, err
	}
	running := false
	err = k.holding(ctx, func() error {
		lock, ok, err := k.try(name, unix.LOCK_EX)
		running = !ok
		unlock(lock)
		return err
	})
	if err != nil {
		return Report{}, err
	}
	out, err := k.inspect(ctx, r)
	out.Running = running
	return out, err
}

// inspect finds what is in r's work tree.
func (k Keeper) inspect(ctx context.Context, r record) (Report, error) {
	out := Report{Name: r.Name, Profile: r.Profile, Branch: Branch(r.Name), Path: k.Path(r.Name), Base: r.Base}
	tree, err := k.whole(r)
	switch {
	case errors.As(err, &out.Missing):
		var repo hostgit.Repo
		if repo, err = k.repository(); err == nil {
			out.Commits, err = beyond(ctx, repo, r, "")
		}
	case err == nil:
		err = out.compare(ctx, tree, r)
	}
	if err == nil && out.Missing == nil {
		out.Held, err = k.held(ctx, r)
	}
	return out, err
}

func (out *Report) compare(ctx context.Context, tree hostgit.Repo, r record) error {
	head, on, err := headOf(ctx, tree, r.Base)
	if err != nil {
		return err
	}
	out.On = on
	detached := ""
	if on == "" {
		detached = head
	}
	if out.Commits, err = beyond(ctx, tree, r, detached); err != nil {
		return err
	}
	if out.Staged, err = staged(ctx, tree, head); err != nil {
		return err
	}
	s, err := look(ctx, tree, head)
	if err != nil {
		return err
	}
	defer s.close()
	out.Changed = s.changed
	return nil
}

// beyond counts the commits of r's branch, and of one more if it is not "", that its base
// does not have.
func beyond(ctx context.Context, repo hostgit.Repo, r record, more string) (int, error) {
	tips, err := repo.Output(ctx, "for-each-ref", "--format=%(objectname)", "refs/heads/"+Branch(r.Name))
	if err != nil {
		return 0, err
	}
	args := []string{"rev-list", "--count", "^" + r.Base}
	for _, tip := range []string{tips, more} {
		if tip != "" {
			args = append(args, tip)
		}
	}
	if len(args) == 3 {
		return 0, nil
	}
	count, err := repo.Output(ctx, append(args, "--")...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(count)
}

// held counts what waits to be accepted in the Domain storage of r's work tree.
func (k Keeper) held(ctx context.Context, r record) (int, error) {
	store, err := state.OpenStore(k.domainRoot(r.Profile, r.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer store.Close()
	tree, err := os.Open(k.Path(r.Name))
	if err != nil {
		return 0, err
	}
	defer tree.Close()
	found, err := state.Held(ctx, state.Place{Store: store, Tree: tree}, state.HeldOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, f := range found.Found {
		if f.Acceptable {
			n++
		}
	}
	return n, nil
}

// Diff writes the difference between a work tree's base and what is in it now, committed
// or not, as a patch or in short. Neither filters nor external diffs run. Held files are
// not in it.
func (k Keeper) Diff(ctx context.Context, name string, stat bool, out io.Writer) error {
	r, err := k.known(name)
	if err != nil {
		return err
	}
	tree, err := k.whole(r)
	if err != nil {
		return err
	}
	head, _, err := headOf(ctx, tree, r.Base)
	if err != nil {
		return err
	}
	s, err := look(ctx, tree, head)
	if err != nil {
		return err
	}
	defer s.close()
	return s.diff(ctx, r.Base, stat, out)
}

// Log lists the commits that only r's branch has, newest first, one a line: what is lost
// with it.
func (k Keeper) Log(ctx context.Context, name string) (string, error) {
	repo, err := k.repository()
	if err != nil {
		return "", err
	}
	branch := "refs/heads/" + Branch(name)
	if _, err := repo.Output(ctx, "rev-parse", "--verify", "--quiet", branch); err != nil {
		return "", nil // it is gone already
	}
	return repo.Output(ctx, "log", "--no-show-signature", "--no-color", "--no-decorate", "--format=%h %s", branch,
		"--not", "--exclude="+Branch(name), "--branches", "--remotes", "--tags", "--")
}
