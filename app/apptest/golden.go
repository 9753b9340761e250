package apptest

import (
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/frame/picture"
)

var (
	update   = flag.Bool("update", false, "write golden files instead of comparing with them")
	pictures = flag.String("pictures", "", "also write each golden frame as a PNG into this directory")
)

// Golden compares a picture with testdata/golden/NAME.txt, or writes it with
// -update. The file holds the text of the cells and where the cursor is.
func Golden(t *testing.T, name string, g *frame.Grid) {
	t.Helper()
	cursor := "cursor hidden"
	if g.Cursor.Visible {
		cursor = fmt.Sprintf("cursor %d,%d", g.Cursor.X, g.Cursor.Y)
	}
	got := g.String() + "--- " + cursor + "\n"
	if *pictures != "" {
		writePicture(t, filepath.Join(*pictures, name+".png"), g)
	}
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

// writePicture paints a frame for the documentation.
func writePicture(t *testing.T, path string, g *frame.Grid) {
	t.Helper()
	opt, err := picture.Default(picture.SystemFonts()...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, picture.Paint(g, opt)); err != nil {
		t.Fatal(err)
	}
}
