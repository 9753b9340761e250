// Package anchor builds the file tree a sandbox runs on: one kernel overlay for the
// root, whose writes are lost with the generation, and one for each State Anchor,
// whose writes persist. Between the prepared lower and the writes lies the guest
// layer: the few files Lazaret supplies, so that they are below whatever the
// developer's sandbox changed and never part of its state.
//
// It promises that no symbolic link of an image leads a path out of the tree that
// is being built, and that an upper directory has the owner and mode of the
// directory it covers.
//
// Trees are handed over as detached mounts (open_tree(2)), so that the process that
// may open a host path and the one that mounts it can be different ones. It imports
// only the runtime contract and internal/fault.
package anchor
