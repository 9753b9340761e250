// Package fusefs serves the Agent Workspace as a FUSE file system
// (docs/workspace.md). For every name it asks a route.Router where the name lives
// and what the sandbox may do with it, and carries that out on descriptors: the
// host tree, Domain storage, and the generation's own storage.
//
// It promises that no operation leaves these three trees: directories are opened
// below their root without following links, and whatever changes anything is first
// found again by its whole path and compared with what the decision was about. It
// promises bounded memory: descriptors, listings and queues have budgets.
//
// One FS has two views. The tree view answers no OPEN, so cached reads cost no
// request; the git view answers OPEN, so that writing what may not be written
// fails at once.
//
// Lock order: FS.tree, then dirState.mu, then table.mu or pool.mu. No lock but
// FS.tree (for reading) is held across a call to the kernel that names a file, and
// Events are called without locks.
//
// It must never import runtime/supervisor or anything that mounts.
package fusefs
