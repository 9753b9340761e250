package fusefs_test

import (
	"strings"
	"sync/atomic"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// fakeRouter decides by how a name begins: "ro", "absent", "held", "transient",
// "secret", "pinned". Below ".git", "config" is read-only and everything is of a git
// directory.
type fakeRouter struct {
	generation atomic.Uint64
	open       atomic.Bool // no rules at all
}

type fakeDir struct {
	path string
	git  bool
}

func (d *fakeDir) Path() string { return d.path }

func (r *fakeRouter) Root() route.Directory { return &fakeDir{} }

func (r *fakeRouter) Generation() uint64 { return r.generation.Load() }

func (r *fakeRouter) Name(dir route.Directory, name string, found route.Names) route.Verdict {
	d := dir.(*fakeDir)
	v := route.Verdict{Class: route.Shared, Git: d.git}
	if r.open.Load() {
		return v
	}
	switch {
	case strings.HasPrefix(name, "ro"), d.git && name == "config":
		v.Class = route.ReadOnly
		if found.Host == route.None {
			v.Class = route.Absent
		}
	case strings.HasPrefix(name, "absent"):
		v.Class = route.Absent
	case strings.HasPrefix(name, "held"):
		v.Class = route.Held
	case strings.HasPrefix(name, "transient"):
		v.Class = route.Transient
	case strings.HasPrefix(name, "secret"):
		v.Class = route.Held
		if found.Host == route.File {
			v.Class = route.StandIn
		}
	case strings.HasPrefix(name, "pinned"), name == ".git":
		v.Pinned = true
	}
	return v
}

func (r *fakeRouter) Enter(dir route.Directory, name string, _ route.Verdict, _ route.Look) route.Directory {
	d := dir.(*fakeDir)
	path := name
	if d.path != "" {
		path = d.path + "/" + name
	}
	return &fakeDir{path: path, git: d.git || name == ".git"}
}
