package route_test

import (
	"path"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// outside enters a directory of the git directory outside, where the host has everything on
// the way.
func (w *world) outside(at string) route.Directory {
	dir := w.policy.GitDirectory()
	for name := range strings.SplitSeq(at, "/") {
		if at != "" {
			dir = w.policy.Enter(dir, name, w.policy.Name(dir, name, route.Names{Host: route.Dir}), func(string) route.Kind { return route.None })
		}
	}
	return dir
}

// beyond decides about a path there.
func (w *world) beyond(at string, found route.Names) route.Verdict {
	dir, name := path.Split(at)
	return w.policy.Name(w.outside(strings.TrimSuffix(dir, "/")), name, found)
}

func TestG23OnlyTheOwnWorkTree(t *testing.T) {
	t.Parallel()
	there, made := route.Names{Host: route.File}, route.Names{Own: route.File}
	for _, c := range []struct {
		admin, path string
		found       route.Names
		want        route.Class
	}{
		{"worktrees/x", "worktrees/x/HEAD", there, route.Shared},
		{"worktrees/x", "worktrees/x/index.lock", made, route.Shared},
		{"worktrees/x", "worktrees/x/gitdir", made, route.Absent},
		{"worktrees/x", "worktrees/x/objects", made, route.Absent},
		{"worktrees/x", "worktrees/y/HEAD", there, route.ReadOnly},
		{"worktrees/x", "worktrees/y/index.lock", made, route.Absent},
		{"worktrees/x", "worktrees/xx/HEAD", there, route.ReadOnly},
		{"worktrees/x", "HEAD", there, route.ReadOnly},
		{"worktrees/x", "index.lock", made, route.Absent},
		{"worktrees/x", "packed-refs", there, route.Shared},
		{"worktrees/x", "refs/heads/x", made, route.Shared},
		{"worktrees/x", "refs/bisect/x", made, route.Absent},
		{"modules/a/worktrees/x", "worktrees/x/HEAD", there, route.ReadOnly},
		{"modules/a/worktrees/x", "HEAD", there, route.ReadOnly},
		{"", "HEAD", there, route.Shared},
		{"", "index.lock", made, route.Shared},
		{"", "worktrees/y/HEAD", there, route.Shared},
		{"", "refs/bisect/x", made, route.Shared},
	} {
		config := usual
		config.Admin = c.admin
		w := newWorld(t, config, map[string]string{})
		if v := w.beyond(c.path, c.found); v.Class != c.want {
			t.Errorf("%q of a workspace that is %q: %+v, want class %d", c.path, c.admin, v, c.want)
		}
	}
}
