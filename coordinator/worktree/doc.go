// Package worktree gives sessions of a profile with git.mode = "worktree" a linked work
// tree and a branch of their own, and takes both away again when nothing is left in them.
//
//	<data root>/worktrees/<hash of the workspace's path>/   0700
//	    lock            held while one is chosen, recorded or removed
//	    .<name>.lock    shared by the clients with a session in it; alone to close it
//	    .<name>.record  canonical record, replaced by rename
//	    <name>/         the work tree, an Agent Workspace like any other
//
//	making ── git worktree add, checkout ──► ready ── nothing left ──► removing ── gone
//	   └──────────────── cut off: undone by the next start ────────────────┘
//
// The client does this, not the Host Coordinator: a Domain's identity follows from the
// path of its workspace, so the work tree has to be there before there is a Domain; and
// what became of it is said to the developer who is looking. The last client in a work
// tree waits for the Domain's end before it looks at what is left. A client that was
// killed leaves that to the next start.
//
// What the sandbox wrote is hostile: its index, HEAD and references are read by package
// hostgit only, and what counts as changed is found with an index of our own.
//
// Locks are taken in this order: .<name>.lock, the Domain lock, lock.
package worktree
