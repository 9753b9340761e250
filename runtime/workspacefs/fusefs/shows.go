package fusefs

import "lazaret.dev/lazaret/runtime/workspacefs/route"

// HandleShows tells whether the sandbox is shown what the host has, or has just removed,
// under a name of a directory that Config.OnDirectory was told of. Of what it is not
// shown it must not even hear.
func (fs *FS) HandleShows(handle uint64, name string, directory bool) bool {
	v := fs.views[handle>>63]
	fs.tree.RLock()
	defer fs.tree.RUnlock()
	dir := v.table.get(handle &^ (1 << 63))
	if dir == nil || dir.dir == nil || v.table.removed(dir) {
		return false
	}
	rules, err := v.rules(dir)
	if err != nil {
		return false
	}
	names := route.Names{Host: route.File}
	if directory {
		names.Host = route.Dir
	}
	switch fs.config.Router.Name(rules, name, names).Class {
	case route.Shared, route.ReadOnly:
		return true
	}
	return false
}
