package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// workTrees are two identical work trees: one is a workspace, and the other is shown
// to the peer by a bind.
type workTrees struct {
	ours, peer string
}

// toolsProfile is a shell that is shown, read-only, this host's Go and some programs.
// The folders are there in the image.
const (
	toolsProfile = "tools"
	goDir        = "/media"
	toolsDir     = "/srv"
)

// tools are what both sides are shown.
func (w *world) tools() []bind {
	return []bind{
		{Source: w.goRoot, Target: goDir, ReadOnly: true},
		{Source: filepath.Join(w.dir, "tools"), Target: toolsDir, ReadOnly: true},
	}
}

// makeWorkTrees makes both.
func (w *world) makeWorkTrees(ctx context.Context) (t workTrees, err error) {
	t = workTrees{filepath.Join(w.dir, "big"), filepath.Join(w.dir, "copy")}
	if err := os.Mkdir(t.ours, 0o755); err != nil {
		return t, fmt.Errorf("make a work tree: %w", err)
	}
	if err := makeRepository(ctx, t.ours); err != nil {
		return t, err
	}
	if err := copyTree(ctx, t.ours, t.peer); err != nil {
		return t, err
	}
	if os.Getuid() != 0 {
		return t, nil
	}
	// Lazaret maps ids at the mount; the peer owns its tree.
	return t, filepath.WalkDir(t.peer, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(w.ids.UIDs.Host), int(w.ids.GIDs.Host))
	})
}

// workplace is both sides of the figures of the workspace file system: a Domain, and a
// bind of an identical tree in bare runsc.
type workplace struct {
	trees workTrees
	peer  *peer
	ours  *ourRoom // nil until work begins
	// daemon serves ours.
	daemon int
}

// place makes the work place when it is first asked for.
func (w *world) place(ctx context.Context) (*workplace, error) {
	if w.workplace != nil {
		return w.workplace, nil
	}
	trees, err := w.makeWorkTrees(ctx)
	if err != nil {
		return nil, err
	}
	p, err := startPeer(w, append(w.tools(), bind{Source: trees.peer, Target: workDir})...)
	if err != nil {
		return nil, err
	}
	w.workplace = &workplace{trees: trees, peer: p}
	return w.workplace, nil
}

// begin opens both sandboxes and waits until ours is warm.
func (w *world) begin(ctx context.Context) (*workplace, error) {
	p, err := w.place(ctx)
	if err != nil || p.ours != nil {
		return p, err
	}
	if p.ours, err = w.openRoom(ctx, p.trees.ours); err != nil {
		return nil, err
	}
	if p.daemon, err = p.ours.daemon(ctx); err != nil {
		return nil, err
	}
	if _, err := p.ours.rests(ctx, p.daemon); err != nil {
		return nil, err
	}
	_, err = openPeerRoom(p.peer)
	return p, err
}

// close ends both, and removes what our side kept of its own: tens of thousands of files.
func (p *workplace) close(w *world) {
	if p.ours != nil {
		p.ours.end()
	}
	p.peer.close()
	for _, workspace := range []string{p.trees.ours, w.emptyWorkspace()} {
		_ = os.RemoveAll(w.domainRoot(toolsProfile, workspace)) // what is left is in the way of nobody
	}
}

// firstStatus times `git status` as the first thing that is done in a new sandbox, once
// the workspace has been warmed, and how long that took.
func firstStatus(ctx context.Context, w *world) ([]Figure, error) {
	place, err := w.place(ctx)
	if err != nil {
		return nil, err
	}
	warmed := Figure{Name: "workspace, start to warm", Unit: "s", Max: atMost(4),
		Note: "from the start of the client until the daemon has been idle for a moment; it cannot tell why"}
	first := Figure{Name: "git status, first", Unit: "ms", PeerIs: bindName, MaxRatio: 1.5}
	memory := Figure{Name: "workspace, memory per file", Unit: "bytes", Max: atMost(3000)}
	var waits, sizes []float64
	const look = "git status --porcelain"
	ours := func() (float64, error) {
		r, err := w.openRoom(ctx, place.trees.ours)
		if err != nil {
			return 0, err
		}
		defer r.end()
		d, err := r.daemon(ctx)
		if err != nil {
			return 0, err
		}
		waited, err := r.rests(ctx, d)
		if err != nil {
			return 0, err
		}
		took, err := r.do(look)
		if err != nil {
			return 0, err
		}
		size, err := pss(d)
		waits, sizes = append(waits, waited.Seconds()), append(sizes, size)
		return took, err
	}
	peer := func() (float64, error) {
		r, err := openPeerRoom(place.peer)
		if err != nil {
			return 0, err
		}
		defer r.end()
		return r.do(look)
	}
	if err := paired(&first, w.rounds(5), ours, peer); err != nil {
		return nil, err
	}
	small, err := w.emptyDaemon(ctx)
	if err != nil {
		return []Figure{first}, err
	}
	warmed.Ours = sample(waits)
	for i := range sizes {
		sizes[i] = (sizes[i] - small) * 1e6 / repositoryTotal
	}
	memory.Ours = sample(sizes)
	memory.Note = fmt.Sprintf("proportional set size beyond the %s MB of an empty workspace", number(small))
	return []Figure{warmed, first, memory}, nil
}

func (w *world) emptyWorkspace() string { return filepath.Join(w.dir, "empty") }

// emptyDaemon is the proportional set size of the daemon of an empty workspace, in MB.
func (w *world) emptyDaemon(ctx context.Context) (float64, error) {
	empty := w.emptyWorkspace()
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return 0, fmt.Errorf("make an empty workspace: %w", err)
	}
	r, err := w.openRoom(ctx, empty)
	if err != nil {
		return 0, err
	}
	defer r.end()
	d, err := r.daemon(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := r.rests(ctx, d); err != nil {
		return 0, err
	}
	return pss(d)
}

const bindName = "bind in runsc"

// chore is something done in both trees. prepare and tidy are not timed. In all of them
// $N is the round.
type chore struct {
	name                string
	prepare, line, tidy string
	rounds              int
	ratio               float64
	either              *float64 // or so much, in milliseconds
	note                string
}

// take times it. What a chore makes is never made again where something was: a file
// system takes much longer to hand out what it has just got back.
func (c chore) take(ctx context.Context, w *world) ([]Figure, error) {
	p, err := w.begin(ctx)
	if err != nil {
		return nil, err
	}
	f := Figure{Name: c.name, Unit: "ms", PeerIs: bindName, MaxRatio: c.ratio, Max: c.either, Note: c.note}
	before, err := processorTime(p.daemon)
	if err != nil {
		return nil, err
	}
	if err := paired(&f, w.rounds(c.rounds), c.in(p.ours), c.in(peerRoom{p.peer})); err != nil {
		return nil, err
	}
	after, err := processorTime(p.daemon)
	f.Parts = map[string]float64{"daemon, processor time of a round": milliseconds(after-before) / float64(f.Ours.N+1)}
	return []Figure{f}, err
}

// in does the chore in a room, in a new round each time.
func (c chore) in(r room) func() (float64, error) {
	round := 0
	return func() (float64, error) {
		round++
		if _, err := r.do(fmt.Sprintf("N=%d; %s", round, orNothing(c.prepare))); err != nil {
			return 0, err
		}
		took, err := r.do(c.line)
		if err != nil {
			return 0, err
		}
		_, err = r.do(orNothing(c.tidy))
		return took, err
	}
}

func orNothing(line string) string {
	if line == "" {
		return ":"
	}
	return line
}
