package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// unchanged returns a node's attributes when all that is asked for is the mode it has
// already, else nil. Then nothing is done and nobody is told, whatever was decided
// about the name: this is how watchers inside are poked after a change on the host
// (docs/workspace.md, Freshness), which must neither touch the host's file nor look
// like a change of the sandbox's. The event is gVisor's own doing.
func (v *view) unchanged(n *node, in *fuse.SetAttrIn) *unix.Statx_t {
	const mute = fuse.FATTR_FH | fuse.FATTR_LOCKOWNER | fuse.FATTR_CTIME // say how, or follow from the rest
	if in.Valid&^mute != fuse.FATTR_MODE {
		return nil
	}
	if _, err := v.current(n); err != nil {
		return nil // it may be hidden by now
	}
	v.fs.files.drop(&n.writing) // as with any mode: it may be executed now
	st, err := v.attributes(n)
	if err != nil || (uint32(st.Mode)^in.Mode)&0o7777 != 0 {
		return nil // an error shows again in the attempt
	}
	return st
}
