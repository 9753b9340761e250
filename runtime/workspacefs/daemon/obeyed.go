package daemon

import (
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// obeyed keeps the rules up to date with what of the workspace the host's git obeys: in
// the workspace's own work tree, and in those below as they come to light.
type obeyed struct {
	policy *route.Policy
	r      *link.Resources
	fixed  []string // found once, at the start

	mu sync.Mutex // guards by
	by map[string][]string
}

func newObeyed(policy *route.Policy, r *link.Resources, fixed []string) *obeyed {
	return &obeyed{policy: policy, r: r, fixed: fixed, by: map[string][]string{}}
}

// topObeyed is what the workspace's own repository makes the host's git obey.
func topObeyed(r *link.Resources) []string {
	host := tree{r.Host}
	if len(r.GitDirs) == 0 {
		return protected(host, r.Workspace, "")
	}
	return protectedOutside(host, r.Workspace, tree{r.GitDirs[0]}, r.Policy.GitDirs[0], adminOf(r))
}

// found takes in a directory that is being looked into, if it is a work tree of its own.
// Nothing in it is answered before that.
func (o *obeyed) found(at string, dir int) {
	var st unix.Stat_t
	if at == "" || unix.Fstatat(dir, gitrules.Git, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.by[at]; !known {
		o.by[at] = protected(tree{o.r.Host}, o.r.Workspace, at)
		o.protect()
	}
}

// changed follows a change on the host of a file that decides about this, and reports
// whether any answer is another now.
func (o *obeyed) changed(name string) (outdated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	host := tree{o.r.Host}
	if dir, base := path.Dir(name), path.Base(name); base == gitrules.Git && dir != "." {
		if _, known := o.by[dir]; !known && host.look(name) == route.None {
			return false
		}
		o.by[dir] = protected(host, o.r.Workspace, dir)
		return o.protect()
	}
	for at := range o.by {
		o.by[at] = protected(host, o.r.Workspace, at)
	}
	return o.protect()
}

func (o *obeyed) protect() (outdated bool) {
	all := append(topObeyed(o.r), o.fixed...)
	for _, paths := range o.by {
		all = append(all, paths...)
	}
	return o.policy.Protect(all)
}

// obeys says whether the host's git obeys what a file of that name says.
func obeys(name string) bool {
	switch path.Base(name) {
	case "config", "config.worktree", gitrules.Git:
		return true
	}
	return path.Base(path.Dir(name)) == "hooks"
}
