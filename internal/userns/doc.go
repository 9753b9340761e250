// Package userns starts a child in a new user namespace whose id maps are those
// of the host's mode (runtime.IDs): written by the setuid helpers newuidmap(1) and
// newgidmap(1) from the developer's subordinate ids, or by Go itself where the
// kernel allows that.
//
// It promises the child a lifetime: a descriptor that ends when its starter does,
// whatever became of its parent-death signal. The child's first act is Enter.
//
// It imports only internal/proc, internal/fault and the runtime contract.
package userns
