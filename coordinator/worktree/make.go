package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lazaret.dev/lazaret/coordinator/hostgit"
	"lazaret.dev/lazaret/internal/fault"
)

// lockReason is what git tells a developer who would move a work tree in use.
const lockReason = "a Lazaret session works in it"

// make makes the branch, the work tree and its files, and records that it is ready.
func (k Keeper) make(ctx context.Context, repo hostgit.Repo, r *record) error {
	path := k.Path(r.Name)
	_, err := repo.Output(ctx, "worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", lockReason, "-b", Branch(r.Name), path, r.Base)
	if err != nil {
		return err
	}
	tree, err := hostgit.Open(path, k.Environ)
	if err != nil {
		return err
	}
	if tree.Common != r.Common {
		return fmt.Errorf("git made a worktree of %q", tree.Common)
	}
	if _, err := tree.Output(ctx, "reset", "--quiet", "--hard", r.Base); err != nil {
		return err
	}
	r.Entry, r.Stage = tree.GitDir, ready
	return k.write(*r)
}

// abandon undoes what make has made when it failed with err.
func (k Keeper) abandon(l *Lease, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	undo := k.holding(ctx, func() error {
		defer unlock(l.lock)
		r, err := k.read(l.Name)
		if err != nil {
			return err
		}
		_, err = k.erase(ctx, r)
		return err
	})
	err = &fault.Error{Kind: fault.Workspace, Message: "worktree " + l.Name + " could not be made", Err: errors.Join(err, undo),
		Fix: "look at what git says; lazaret state worktrees shows whether anything is left"}
	return err
}

// whole opens git in r's work tree, and says what happened if it is not there any more.
func (k Keeper) whole(r record) (hostgit.Repo, error) {
	repo, err := hostgit.Open(k.Path(r.Name), k.Environ)
	if err == nil && repo.Common != r.Common {
		err = fmt.Errorf("it belongs to %q, not to %q", repo.Common, r.Common)
	}
	if err == nil {
		return repo, nil
	}
	if fault.FixOf(err) != "" {
		return repo, err
	}
	message := fmt.Sprintf("worktree %s is no longer in %q", r.Name, k.Path(r.Name))
	fix := fmt.Sprintf("if it was moved by hand: move it back. What was committed is on %s; lazaret state worktrees remove %s forgets the rest", Branch(r.Name), r.Name)
	if to := movedTo(r); to != "" && to != k.Path(r.Name) {
		fix = fmt.Sprintf("git has it in %s: git worktree move %s %s", to, to, k.Path(r.Name))
	}
	return repo, &fault.Error{Kind: fault.Workspace, Message: message, Err: err, Fix: fix}
}

// movedTo is where the repository believes r's work tree is, "" when it knows of none.
func movedTo(r record) string {
	data, err := os.ReadFile(filepath.Join(r.Entry, "gitdir"))
	if r.Entry == "" || err != nil {
		return ""
	}
	return filepath.Dir(strings.TrimSpace(string(data)))
}

// pin keeps the developer's git from moving, removing or pruning a work tree in use.
func pin(ctx context.Context, repo hostgit.Repo) error {
	if _, err := os.Lstat(filepath.Join(repo.GitDir, "locked")); err == nil {
		return nil
	}
	_, err := repo.Output(ctx, "worktree", "lock", "--reason", lockReason, repo.Tree)
	return err
}

// unpin undoes pin.
func unpin(ctx context.Context, repo hostgit.Repo) error {
	if _, err := os.Lstat(filepath.Join(repo.GitDir, "locked")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := repo.Output(ctx, "worktree", "unlock", repo.Tree)
	return err
}
