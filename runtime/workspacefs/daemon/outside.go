package daemon

import (
	"path"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// outside is the naming of a git directory outside the workspace: what its rules go by
// has names of its own there (route.Outside).
type outside struct {
	admin string // the work tree's part of it; "" when it is the work tree's alone
}

// dir returns how the rules call a directory of it.
func (o outside) dir(below string) string {
	switch below {
	case o.admin:
		return route.Outside
	case "info":
		return route.Outside + "/info"
	}
	return route.Outside + "/other/" + below
}

// name returns how the rules call a path in it.
func (o outside) name(below string) string {
	dir, base := path.Split(below)
	return o.dir(strings.TrimSuffix(dir, "/")) + "/" + base
}

// reader reads what has such a name.
func (o outside) reader(host tree) func(string, int64) ([]byte, error) {
	return func(name string, limit int64) ([]byte, error) {
		name = strings.TrimPrefix(name, route.Outside+"/")
		if name == "index" {
			name = path.Join(o.admin, name)
		}
		return host.read(name, limit)
	}
}

// outsideTree is the file system of such a directory as what follows the host sees it.
type outsideTree struct {
	*fusefs.FS
	names outside
}

func (t outsideTree) HandlePath(handle uint64) (string, bool) {
	below, ok := t.FS.HandlePath(handle)
	return t.names.dir(below), ok
}

// gitRouter decides about a tree that is itself a git directory.
type gitRouter struct{ *route.Policy }

func (g gitRouter) Root() route.Directory { return g.GitDirectory() }

// sameName leaves the paths of the workspace as they are.
func sameName(path string) string { return path }
