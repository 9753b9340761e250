package fusefs

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// backend is the tree a node's file is in.
type backend uint8

const (
	host      backend = 1
	held      backend = 2
	transient backend = 3
	nowhere   backend = 4 // a stand-in, or the git view's own root
)

// identity tells one file from every other, also from a later one that got its
// inode number.
type identity struct {
	device, inode uint64
	birth         int64 // nanoseconds; 0 where the file system does not say
}

func identify(st *unix.Statx_t) identity {
	return identity{device(st), st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}
}

// key is what makes two names one node.
type key struct {
	identity
	backend backend
	class   route.Class
}

// place is a name in a directory.
type place struct {
	dir  uint64
	name string
}

// node is a file the kernel knows. What is below mu's line is guarded by table.mu.
type node struct {
	id   uint64
	key  key
	kind uint32 // the type bits of its mode

	// path is an O_PATH descriptor of a directory, or of a file that has lost its
	// name; reading and writing are open files.
	path, reading, writing slot

	dir  *dirState // of a directory
	root bool      // it has no parent

	parent   *node
	name     string
	aliases  []alias
	unlinked bool // the sandbox removed its last name
	verdict  route.Verdict
	epoch    uint64 // when verdict was given
	seen     uint64 // stamp of what the kernel was told; 0 after a change of the sandbox's
	lookups  uint64
	children int // nodes whose parent this is
}

// alias is another name of a file.
type alias struct {
	parent *node
	name   string
}

// dirState is what is remembered of a directory while the kernel knows it.
type dirState struct {
	mu        sync.Mutex
	entered   atomic.Bool // host directories: OnDirectory was called
	unwatched bool
	rules     route.Directory
	epoch     uint64
	mirrors   [transient + 1]mirror
	listing   *listing
}

// mirror is what stands for a host directory in another backend.
type mirror struct {
	slot    slot
	version uint64 // FS.mirrors+1 when last looked for; 0 is never
	absent  bool
}

func (n *node) isDir() bool { return n.kind == unix.S_IFDIR }

func (n *node) locate() string {
	size := 0
	for m := n; !m.root; m = m.parent {
		size += len(m.name) + 1
	}
	if size == 0 {
		return ""
	}
	path := make([]byte, size-1)
	end := size - 1
	for m := n; !m.root; m = m.parent {
		end -= len(m.name)
		copy(path[end:], m.name)
		if end > 0 {
			end--
			path[end] = '/'
		}
	}
	return string(path)
}

func under(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// above returns a node's directory and its name there.
func (t *table) above(n *node) (*node, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.parent, n.name
}
