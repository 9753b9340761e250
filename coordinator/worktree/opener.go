package worktree

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/internal/config"
)

// Opener opens sessions: those of profiles with git.mode = "worktree" in a work tree of
// their own, all others as they are asked for. Its methods may overlap.
type Opener struct {
	Config  *config.Config
	Environ []string // of the host
	// Spawn returns what opens sessions with a configuration.
	Spawn func(*config.Config) spawn.Opener
	// Resume, when not empty, names the work tree to go on in instead of a new one.
	Resume string
	// Told is called with the outcome of every session that had a work tree, one at a
	// time; it may be nil.
	Told func(Outcome)

	settling sync.WaitGroup
	telling  sync.Mutex
}

// Keeper is the work trees of the configuration's workspace.
func (o *Opener) Keeper() Keeper { return ForConfig(o.Config, o.Environ) }

// ForConfig is the work trees of the workspace that c was loaded for.
func ForConfig(c *config.Config, environ []string) Keeper {
	return Keeper{DataRoot: canonical(c.Storage.DataRoot), Workspace: c.Home, Environ: environ}
}

// canonical resolves the links in what there is of path: a Domain's identity is of
// canonical paths, also before there is a Storage Root.
func canonical(path string) string {
	missing := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			return filepath.Join(real, missing)
		}
		missing = filepath.Join(filepath.Base(dir), missing)
	}
}

// Open opens one session as spawn.Opener does. What became of its work tree is told some
// time after its end; Wait waits for that.
func (o *Opener) Open(ctx context.Context, r spawn.Request, progress func(string)) (*client.Session, error) {
	if o.Config.Profiles[r.Profile].GitMode != config.GitWorktree {
		return o.Spawn(o.Config).Open(ctx, r, progress)
	}
	if _, err := o.Config.Profile(r.Profile); err != nil {
		return nil, err // before anything is made
	}
	lease, err := o.lease(ctx, r, progress)
	if err != nil {
		return nil, err
	}
	s, err := o.enter(ctx, lease, r, progress)
	if err != nil {
		if out := lease.Settle(context.Background()); out.Ending == Kept {
			o.tell(out)
		}
		return nil, err
	}
	o.settling.Go(func() {
		<-s.Done()
		o.tell(lease.Settle(context.Background()))
	})
	return s, nil
}

func (o *Opener) lease(ctx context.Context, r spawn.Request, progress func(string)) (*Lease, error) {
	if o.Resume != "" {
		return o.Keeper().Resume(ctx, r.Profile, o.Resume)
	}
	return o.Keeper().Start(ctx, r.Profile, r.Start.Name, progress)
}

// enter opens the session in the work tree of lease.
func (o *Opener) enter(ctx context.Context, lease *Lease, r spawn.Request, progress func(string)) (*client.Session, error) {
	c, err := o.Config.ForWorktree(lease.Path)
	if err != nil {
		return nil, err
	}
	r.Workspace = c.Workspace
	if r.Start.Name == "" {
		r.Start.Name = lease.Name
	}
	return o.Spawn(c).Open(ctx, r, progress)
}

func (o *Opener) tell(out Outcome) {
	o.telling.Lock()
	defer o.telling.Unlock()
	if o.Told != nil {
		o.Told(out)
	}
}

// Wait waits until every session that has ended is settled. No session may be opened
// meanwhile.
func (o *Opener) Wait() { o.settling.Wait() }

// BranchIn returns the branch of the work tree at path, an Agent Workspace; "" when it is
// no work tree of the keeper's.
func (k Keeper) BranchIn(path string) string {
	name, ok := strings.CutPrefix(path, k.Dir()+"/")
	if !ok || checkName(name) != nil {
		return ""
	}
	return Branch(name)
}
