//go:build sandbox

package fusefs_test

import (
	"os"
	"testing"
)

// An editor on the host writes a new file beside the old one, where the sandbox may see
// it, and moves it over the old one. The file must be found under its new name only.
func TestAFileTheHostMovesOverAnother(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/file", "0")
	same(t, w.tree+"/file", "0")
	for _, text := range []string{"1", "2", "3"} {
		put(t, w.host+"/file.new", text)
		w.fs.EntryChanged("", "file.new")
		if _, err := os.Stat(w.tree + "/file.new"); err != nil {
			t.Fatal(err)
		}
		must(t, os.Rename(w.host+"/file.new", w.host+"/file"))
		w.fs.EntryChanged("", "file")
		w.fs.EntryChanged("", "file.new")
		same(t, w.tree+"/file", text)
		same(t, w.tree+"/file", text)
	}
}
