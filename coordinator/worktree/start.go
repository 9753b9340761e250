package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/hostgit"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// Lease is a session's part in a work tree: as long as it is open, nobody removes the
// work tree. Close it by Settle or Drop, once.
type Lease struct {
	Name, Profile, Branch, Path string

	keeper Keeper
	lock   *os.File
}

// Start makes a new work tree of the workspace's HEAD for a session of profile. An empty
// name asks for the lowest free number. First it brings to an end what crashed clients
// left; progress is told of that, and of what takes long. Errors are of kind Usage when
// the name is taken or none, of kind Workspace when there is no repository or commit.
func (k Keeper) Start(ctx context.Context, profile, name string, progress func(string)) (*Lease, error) {
	if name != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	repo, err := k.repository()
	if err != nil {
		return nil, err
	}
	base, err := repo.Output(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return nil, &fault.Error{Kind: fault.Workspace, Message: fmt.Sprintf("the repository in %q has no commit to start from", k.Workspace), Err: err,
			Fix: "make a first commit"}
	}
	r := record{Name: name, Profile: profile, Workspace: k.Workspace, Common: repo.Common, Base: base, Stage: making}
	lease, err := k.reserve(ctx, repo, r, progress)
	if err != nil {
		return nil, err
	}
	r.Name = lease.Name
	progress("checking out worktree " + r.Name)
	if err := k.make(ctx, repo, &r); err != nil {
		return nil, k.abandon(lease, err)
	}
	return lease, nil
}

// reserve tidies up, chooses the name and records it.
func (k Keeper) reserve(ctx context.Context, repo hostgit.Repo, r record, progress func(string)) (*Lease, error) {
	lock, err := k.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := k.tidy(ctx, progress); err != nil {
		return nil, err
	}
	if r.Name, err = k.choose(ctx, repo, r.Profile, r.Name); err != nil {
		return nil, err
	}
	part, ok, err := k.try(r.Name, unix.LOCK_SH)
	if err == nil && !ok {
		err = &fault.Error{Kind: fault.Workspace, Message: "worktree " + r.Name + " is in use", Fix: "try again"}
	}
	if err == nil {
		err = k.write(r)
	}
	if err != nil {
		unlock(part)
		return nil, err
	}
	return k.lease(r, part), nil
}

func (k Keeper) lease(r record, lock *os.File) *Lease {
	return &Lease{Name: r.Name, Profile: r.Profile, Branch: Branch(r.Name), Path: k.Path(r.Name), keeper: k, lock: lock}
}

// choose returns the name for a new work tree: wanted if it is free, else the lowest free
// number.
func (k Keeper) choose(ctx context.Context, repo hostgit.Repo, profile, wanted string) (string, error) {
	branches, err := repo.Output(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/lazaret")
	if err != nil {
		return "", err
	}
	taken := strings.Split(branches, "\n")
	if wanted != "" {
		return wanted, k.free(taken, profile, wanted)
	}
	for n := 1; ; n++ {
		if name := strconv.Itoa(n); k.free(taken, profile, name) == nil {
			return name, nil
		}
	}
}

// free says why a name cannot be had, as a *fault.Error of kind Usage.
func (k Keeper) free(branches []string, profile, name string) error {
	taken := func(by, fix string) error {
		return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("the name %q is taken: %s", name, by), Fix: fix}
	}
	if _, err := k.read(name); !errors.Is(err, fs.ErrNotExist) {
		return taken("there is such a worktree", fmt.Sprintf("go on in it with `lazaret run --resume %s`, drop it with `lazaret state worktrees remove %s`, or choose another --name", name, name))
	}
	if slices.Contains(branches, Branch(name)) {
		return taken("there is a branch "+Branch(name), "choose another --name, or delete the branch if it is merged: git branch -d "+Branch(name))
	}
	if _, err := os.Lstat(k.Path(name)); !errors.Is(err, fs.ErrNotExist) {
		return taken("there is a folder "+k.Path(name), "look into it and move it away, or choose another --name")
	}
	if store, err := state.OpenStore(k.domainRoot(profile, name)); err == nil {
		store.Close()
		return taken("Domain storage of an earlier one is left", "choose another --name")
	}
	return nil
}

// Resume opens a lease on a work tree there is already, which others may be using.
func (k Keeper) Resume(ctx context.Context, profile, name string) (*Lease, error) {
	var lease *Lease
	err := k.holding(ctx, func() error {
		r, err := k.known(name)
		if err != nil {
			return err
		}
		if r.Profile != profile {
			return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("worktree %s is one of profile %q", name, r.Profile), Fix: "lazaret run " + r.Profile + " --resume " + name}
		}
		repo, err := k.whole(r)
		if err != nil {
			return err
		}
		lock, ok, err := k.try(name, unix.LOCK_SH)
		if err == nil && (!ok || r.Stage != ready) {
			err = &fault.Error{Kind: fault.Workspace, Message: "worktree " + name + " is being made or closed", Fix: "try again"}
		}
		if err == nil {
			err = pin(ctx, repo)
		}
		if err != nil {
			unlock(lock)
			return err
		}
		lease = k.lease(r, lock)
		return nil
	})
	return lease, err
}

// Profile returns the profile whose sessions work in the work tree called name.
func (k Keeper) Profile(name string) (string, error) {
	r, err := k.known(name)
	return r.Profile, err
}

// known reads the record of a work tree that a developer named.
func (k Keeper) known(name string) (record, error) {
	if err := checkName(name); err != nil {
		return record{}, err
	}
	r, err := k.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("this workspace has no worktree %q", name), Fix: "see lazaret state worktrees"}
	}
	if err != nil {
		return record{}, &fault.Error{Kind: fault.Workspace, Message: "the record of worktree " + name + " cannot be read", Err: err, Fix: "remove the file if its worktree is of no use"}
	}
	return r, nil
}
