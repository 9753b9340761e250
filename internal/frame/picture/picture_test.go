package picture_test

import (
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/frame/picture"
)

func options(t *testing.T) picture.Options {
	t.Helper()
	o, err := picture.Default()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPaint(t *testing.T) {
	t.Parallel()
	o := options(t)
	g := frame.NewGrid(4, 2)
	g.Set(0, 0, frame.Cell{Text: "█", Width: 1, Style: frame.Style{FG: frame.RGB(10, 20, 30)}})
	g.Set(1, 0, frame.Cell{Text: " ", Width: 1, Style: frame.Style{BG: frame.RGB(40, 50, 60)}})
	g.Set(2, 0, frame.Cell{Text: " ", Width: 1, Style: frame.Style{FG: frame.RGB(7, 8, 9), Attr: frame.Reverse}})
	g.Set(0, 1, frame.Cell{Text: "日", Width: 2})
	img := picture.Paint(g, o)
	if b := img.Bounds(); b.Dx() != 4*o.CellWidth+2*o.Padding || b.Dy() != 2*o.CellHeight+2*o.Padding {
		t.Fatalf("picture is %v", b)
	}
	for x, want := range map[int]color.RGBA{0: {10, 20, 30, 255}, 1: {40, 50, 60, 255}, 2: {7, 8, 9, 255}, 3: o.Background.(color.RGBA)} {
		if got := img.RGBAAt(o.Padding+x*o.CellWidth+4, o.Padding+9); got != want {
			t.Errorf("cell %d is %v, want %v", x, got, want)
		}
	}
	// No embedded font has the ideograph: an outline stands for it.
	if got := img.RGBAAt(o.Padding+2, o.Padding+o.CellHeight+9); got != o.Foreground {
		t.Errorf("missing glyph has no outline: %v", got)
	}
}

func TestPaintText(t *testing.T) {
	t.Parallel()
	o := options(t)
	for _, cluster := range []string{"a", "W", "é", "e\u0301", "┼", "▒", "▚"} {
		g := frame.NewGrid(1, 1)
		g.Set(0, 0, frame.Cell{Text: cluster, Width: 1})
		img := picture.Paint(g, o)
		inked := 0
		for y := o.Padding; y < o.Padding+o.CellHeight; y++ {
			for x := o.Padding; x < o.Padding+o.CellWidth; x++ {
				if img.RGBAAt(x, y) != o.Background {
					inked++
				}
			}
		}
		if inked == 0 {
			t.Errorf("%q is not drawn", cluster)
		}
	}
}

func TestPaintTwiceIsEqual(t *testing.T) {
	t.Parallel()
	o := options(t)
	g := frame.NewGrid(20, 1)
	g.Text(0, 0, 20, "the same picture", frame.Style{Attr: frame.Bold | frame.Underline})
	g.Cursor = frame.Cursor{X: 3, Visible: true}
	first, second := picture.Paint(g, o), picture.Paint(g, o)
	if string(first.Pix) != string(second.Pix) {
		t.Error("two pictures of one grid differ")
	}
}

func TestFallbackFonts(t *testing.T) {
	t.Parallel()
	if _, err := picture.Default(filepath.Join(t.TempDir(), "none.ttf")); err != nil {
		t.Errorf("a missing font is an error: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.ttf")
	if err := os.WriteFile(bad, []byte("no font"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := picture.Default(bad); err == nil {
		t.Error("a broken font is accepted")
	}
}
