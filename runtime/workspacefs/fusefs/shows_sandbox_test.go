//go:build sandbox

package fusefs_test

import (
	"os"
	"sync"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

// Of a name that is not shown the sandbox is not to hear either.
func TestOnlyWhatIsShownIsToldOf(t *testing.T) {
	var mu sync.Mutex
	handles := map[string]uint64{}
	w := newWorld(t, func(c *fusefs.Config) {
		c.OnDirectory = func(handle uint64, path string, _ int) error {
			mu.Lock()
			defer mu.Unlock()
			handles[path] = handle
			return nil
		}
	})
	put(t, w.host+"/dir/file", "text")
	put(t, w.host+"/held.dir/file", "text")
	for _, dir := range []string{w.tree, w.tree + "/dir", w.tree + "/held.dir"} {
		_, err := os.ReadDir(dir)
		if err != nil && dir != w.tree+"/held.dir" {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(handles) != 2 {
		t.Fatalf("told of %v, want the top and dir", handles)
	}
	for _, path := range []string{"", "dir"} {
		for name, want := range map[string]bool{"file": true, "ro": true, "gone before": true,
			"held": false, "absent": false, "transient": false, "secret": false} {
			for _, directory := range []bool{false, true} {
				if name == "secret" && directory {
					continue // no stand-in for a directory
				}
				if w.fs.HandleShows(handles[path], name, directory) != want {
					t.Errorf("%q in %q, directory %t: want %t", name, path, directory, want)
				}
			}
		}
	}
	if w.fs.HandleShows(handles["dir"]+1000, "file", false) {
		t.Error("a directory nobody knows shows a file")
	}
}
