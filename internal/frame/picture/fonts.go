package picture

import (
	"fmt"
	"image/color"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/opentype"
)

// The metrics that the embedded font fits.
const (
	fontSize   = 15
	cellWidth  = 9
	cellHeight = 19
)

// Default returns options with the embedded font, then the given font files for
// glyphs it lacks. Files that do not exist are left out.
func Default(fallbacks ...string) (Options, error) {
	o := Options{
		CellWidth: cellWidth, CellHeight: cellHeight, Padding: 12,
		Foreground: color.RGBA{0xd7, 0xda, 0xe0, 255}, Background: color.RGBA{0x14, 0x16, 0x1b, 255},
	}
	own, err := embedded()
	if err != nil {
		return o, err
	}
	o.Faces = []Faces{own}
	for _, path := range fallbacks {
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return o, fmt.Errorf("read font: %w", err)
		}
		f, err := parse(path, data)
		if err != nil {
			return o, err
		}
		o.Faces = append(o.Faces, Faces{Regular: f})
	}
	return o, nil
}

// SystemFonts are where Debian and Ubuntu keep monospaced fonts with wide coverage.
func SystemFonts() []string {
	return []string{
		"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
		"/usr/share/fonts/truetype/noto/NotoSansMono-Regular.ttf",
		"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
		"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
		"/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf",
	}
}

func embedded() (Faces, error) {
	var f Faces
	for _, s := range []struct {
		to   *font.Face
		name string
		data []byte
	}{{&f.Regular, "Go Mono", gomono.TTF}, {&f.Bold, "Go Mono Bold", gomonobold.TTF}, {&f.Italic, "Go Mono Italic", gomonoitalic.TTF}} {
		face, err := parse(s.name, s.data)
		if err != nil {
			return f, err
		}
		*s.to = face
	}
	return f, nil
}

func parse(name string, data []byte) (font.Face, error) {
	c, err := opentype.ParseCollection(data)
	if err != nil {
		return nil, fmt.Errorf("parse font %q: %w", name, err)
	}
	f, err := c.Font(0)
	if err != nil {
		return nil, fmt.Errorf("parse font %q: %w", name, err)
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: fontSize, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return nil, fmt.Errorf("load font %q: %w", name, err)
	}
	return face, nil
}
