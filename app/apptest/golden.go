package apptest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/frame"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Golden compares a picture with testdata/golden/NAME.txt, or writes it with
// -update. The file holds the text of the cells and where the cursor is.
func Golden(t *testing.T, name string, g *frame.Grid) {
	t.Helper()
	cursor := "cursor hidden"
	if g.Cursor.Visible {
		cursor = fmt.Sprintf("cursor %d,%d", g.Cursor.X, g.Cursor.Y)
	}
	got := g.String() + "--- " + cursor + "\n"
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden picture (write it with -update): %v", err)
	}
	if got != string(want) {
		t.Errorf("picture %s differs (write it with -update when that is right)\n--- want\n%s\n--- got\n%s", name, want, got)
	}
}
