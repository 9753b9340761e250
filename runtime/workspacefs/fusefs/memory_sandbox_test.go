//go:build sandbox

package fusefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

// A file the kernel knows may cost this much of the daemon's memory.
const (
	perInode   = 3 << 10
	manyInodes = 50_000
)

func TestMemoryPerInode(t *testing.T) {
	fast := t.TempDir()
	must(t, unix.Mount("lazaret", fast, "tmpfs", 0, "mode=0755"))
	defer unix.Unmount(fast, unix.MNT_DETACH)
	for i := range manyInodes {
		dir := fmt.Sprintf("%s/directory%03d", fast, i/100)
		if i%100 == 0 {
			must(t, os.Mkdir(dir, 0o755))
		}
		must(t, unix.Mknod(fmt.Sprintf("%s/a-name-of-usual-length-%02d.go", dir, i%100), unix.S_IFREG|0o644, 0))
	}
	w := newWorld(t, func(c *fusefs.Config) { c.Host = openDir(t, fast) })
	before := heap()
	known := 0
	must(t, filepath.Walk(w.tree, func(string, os.FileInfo, error) error { known++; return nil }))
	used := heap() - before
	if known < manyInodes {
		t.Fatalf("walked %d", known)
	}
	t.Logf("%d bytes per inode", used/int64(known))
	if used > perInode*int64(known) {
		t.Errorf("%d inodes use %d bytes: more than %d each", known, used, perInode)
	}
}

func heap() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
