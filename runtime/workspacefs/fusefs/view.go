package fusefs

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// View is one way of serving an FS. Each has a FUSE connection of its own.
type View uint8

// The views.
const (
	Tree View = 0 // the workspace; OPEN is not answered
	Git  View = 1 // its git directories, by number; OPEN is answered
)

// view is what the kernel talks to.
type view struct {
	fuse.RawFileSystem // answers ENOSYS to what is not here
	fs                 *FS
	kind               View
	table              table
	workspace          *node // the root of the workspace; the tree view's own root

	mu     sync.Mutex
	gits   []*node // guarded by mu; of the git view: directory n is named n
	listed []*node // guarded by mu; directories with a listing

	explicit bool // the kernel drops data only when it is told to; fixed before it asks
	notifier notifier
	absences absences
	server   atomic.Pointer[fuse.Server]
}

func newView(fs *FS, kind View) *view {
	v := &view{RawFileSystem: fuse.NewDefaultRawFileSystem(), fs: fs, kind: kind, table: newTable(fs.pool, fs.files)}
	if kind == Git {
		v.table.root(key{backend: nowhere}, route.Verdict{Class: route.ReadOnly, Git: true, Why: "the git view's root"})
	}
	st, err := stat(fs.roots[host])
	k := key{backend: host}
	if err == nil {
		k.identity = identify(st)
	}
	v.workspace = v.table.root(k, route.Verdict{Class: route.Shared, Pinned: true, Why: "the workspace"})
	return v
}

// maxWrite is the most bytes of one request. The mount's max_read should be as much.
const maxWrite = 1 << 20

// Serve answers the kernel on a mounted connection until it is unmounted. connection
// stays the caller's and may be closed once Serve has begun to answer. It may be called
// once for each view.
func (fs *FS) Serve(connection *os.File, which View) error {
	v := fs.views[which]
	fd, err := unix.FcntlInt(connection.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("serve the workspace: %w", err)
	}
	notify, err := unix.FcntlInt(connection.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("serve the workspace: %w", err)
	}
	v.explicit = v.watched()
	server, err := fuse.NewServer(v, "/dev/fd/"+strconv.Itoa(fd), &fuse.MountOptions{
		MaxWrite:             maxWrite,
		MaxBackground:        64,
		EnableSymlinkCaching: true,
		// A first listing brings the attributes along; later ones come from the kernel's
		// own copy. Without KILLPRIV the kernel asks for security labels before a write.
		ExtraCapabilities: fuse.CAP_READDIRPLUS_AUTO | fuse.CAP_HANDLE_KILLPRIV_V2,
		// What is watched is dropped when it changes, not when its times do: they also
		// change by what the sandbox writes.
		ExplicitDataCacheControl: v.explicit,
		Logger:                   fs.config.Log,
	})
	if err != nil {
		unix.Close(notify)
		return fmt.Errorf("serve the workspace: %w", err)
	}
	v.server.Store(server)
	stop := v.notifier.start(v, os.NewFile(uintptr(notify), "fuse"))
	server.Serve()
	stop()
	return nil
}

// watched says that the workspace is watched, as far as can be told before anybody
// looks into it.
func (v *view) watched() bool {
	if v.fs.config.OnDirectory == nil || v.enter(v.workspace) != nil {
		return false
	}
	return !v.unwatched(v.workspace)
}

// String names the file system to the library.
func (v *view) String() string { return "lazaret" }

// handle names a directory node to the outside: the view in the highest bit.
func (v *view) handle(n *node) uint64 { return uint64(v.kind)<<63 | n.id }

// node returns the node the kernel means.
func (v *view) node(id uint64) (*node, error) {
	if n := v.table.get(id); n != nil {
		return n, nil
	}
	return nil, unix.ESTALE
}

// virtual says that n is the git view's own root.
func (n *node) virtual() bool { return n.root && n.key.backend == nowhere }
