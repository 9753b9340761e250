//go:build sandbox

package fusefs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

// Both sides work in the same few names at once. What comes of it is anybody's guess,
// but nothing breaks, and afterwards both see the same.
func TestBothSidesAtOnce(t *testing.T) {
	w := watchedWorld(t, func(c *fusefs.Config) { c.Descriptors = 24 })
	w.router.open.Store(true)
	var sides sync.WaitGroup
	for i, root := range []string{w.tree, w.tree, w.host, w.host} {
		sides.Go(func() { w.work(root, uint64(i)) })
	}
	sides.Wait()
	w.fs.InvalidateAll()
	inside, outside := describe(t, w.tree), describe(t, w.host)
	if inside != outside {
		t.Errorf("inside:\n%shost:\n%s", inside, outside)
	}
}

// work does random things and does not mind what fails. The host's side tells what it
// did.
func (w *world) work(root string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range 1500 {
		name := modelNames[random.IntN(len(modelNames))]
		other := modelNames[random.IntN(len(modelNames))]
		path := root + "/" + name
		switch random.IntN(10) {
		case 0:
			_ = os.Mkdir(path, 0o755)
		case 1:
			_ = os.WriteFile(path, fmt.Append(nil, random.IntN(1000)), 0o644)
		case 2:
			_ = write(path, os.O_APPEND)
		case 3:
			_ = unix.Rename(path, root+"/"+other)
		case 4:
			_ = os.Remove(path)
		case 5:
			_, _ = os.ReadFile(path)
		case 6:
			_, _ = os.ReadDir(path)
		case 7:
			_ = unix.Link(path, root+"/"+other)
		case 8:
			_ = unix.Truncate(path, 3)
		case 9:
			_ = os.Chmod(path, 0o711)
		}
		if root == w.host {
			w.fs.EntryChanged("", name)
			w.fs.Changed(name)
		}
	}
}
