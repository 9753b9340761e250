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
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// erase removes a work tree with its entry in the repository, its branch and its Domain
// storage. A branch that has more commits than it began with stays, unless r says
// to drop it; so does one that is checked out elsewhere. branchStays says that it did.
// The caller holds the lock of all and that of r, and knows that no sandbox runs in it. A
// crash on the way is noticed by the next start, which goes on.
func (k Keeper) erase(ctx context.Context, r record) (branchStays bool, err error) {
	if r.Stage == ready {
		r.Stage = removing
		if err := k.write(r); err != nil {
			return false, err
		}
	}
	if err := os.RemoveAll(k.Path(r.Name)); err != nil {
		return false, fmt.Errorf("remove worktree %q: %w", r.Name, err)
	}
	repo, err := k.repository()
	if err == nil && repo.Common != r.Common {
		err = fmt.Errorf("the repository of %q is another than that of its worktree %q", k.Workspace, r.Name)
	}
	if err != nil {
		return false, err
	}
	if err := removeEntry(r.Common, k.Path(r.Name)); err != nil {
		return false, err
	}
	if branchStays, err = removeBranch(ctx, repo, r); err != nil {
		return branchStays, err
	}
	// What belongs to other users of the sandbox may stay: then the name does not
	// become free.
	os.RemoveAll(filepath.Join(k.domainRoot(r.Profile, r.Name), state.Folder))
	err = os.Remove(k.recordPath(r.Name))
	os.Remove(k.lockPath(r.Name))
	return branchStays, err
}

// removeEntry removes what the repository common has of the work tree at path, as
// git-worktree(1) remove does, also when the work tree is half there.
func removeEntry(common, path string) error {
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		entry := filepath.Join(common, "worktrees", e.Name())
		data, err := os.ReadFile(filepath.Join(entry, "gitdir"))
		if !e.IsDir() || err != nil || strings.TrimSpace(string(data)) != filepath.Join(path, ".git") {
			continue
		}
		if err := os.RemoveAll(entry); err != nil {
			return err
		}
	}
	os.Remove(filepath.Join(common, "worktrees")) // as git does; fails while it holds others
	return nil
}

// removeBranch deletes r's branch, if that loses nothing or is wanted.
func removeBranch(ctx context.Context, repo hostgit.Repo, r record) (stays bool, err error) {
	tip, err := repo.Output(ctx, "for-each-ref", "--format=%(objectname) %(symref) %(worktreepath)", "refs/heads/"+Branch(r.Name))
	if err != nil || tip == "" {
		return false, err
	}
	id, rest, _ := strings.Cut(tip, " ")
	// Elsewhere in use, or made another branch's alias by the sandbox.
	if strings.TrimSpace(rest) != "" {
		return true, nil
	}
	if !r.Drop {
		more, err := repo.Output(ctx, "rev-list", "--count", id, "^"+r.Base, "--")
		if err != nil {
			return true, err
		}
		if more != "0" {
			return true, nil
		}
	}
	_, err = repo.Output(ctx, "branch", "--quiet", "-D", "--", Branch(r.Name))
	return err != nil, err
}
