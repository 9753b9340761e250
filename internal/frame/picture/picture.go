package picture

import (
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"

	"lazaret.dev/lazaret/internal/frame"
)

// Options say how a picture looks.
type Options struct {
	Faces      []Faces // tried in order for each glyph; DefaultFaces when empty
	CellWidth  int     // pixels
	CellHeight int
	Padding    int         // pixels around the grid
	Foreground color.Color // the terminal's own colours
	Background color.Color
}

// Faces are the styles of one font.
type Faces struct{ Regular, Bold, Italic font.Face }

// Paint returns the picture of g.
func Paint(g *frame.Grid, o Options) *image.RGBA {
	p := painter{o: o}
	p.img = image.NewRGBA(image.Rect(0, 0, g.W*o.CellWidth+2*o.Padding, g.H*o.CellHeight+2*o.Padding))
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(o.Background), image.Point{}, draw.Src)
	for y := range g.H {
		for x := range g.W {
			if c := g.At(x, y); c.Width > 0 {
				p.background(x, y, c)
			}
		}
	}
	for y := range g.H {
		for x := range g.W {
			if c := g.At(x, y); c.Width > 0 {
				p.glyph(x, y, c)
			}
		}
	}
	if c := g.Cursor; c.Visible {
		p.cursor(c)
	}
	return p.img
}

type painter struct {
	o   Options
	img *image.RGBA
}

// cell returns the pixels of the cells from x, y.
func (p *painter) cell(x, y, width int) image.Rectangle {
	x0, y0 := p.o.Padding+x*p.o.CellWidth, p.o.Padding+y*p.o.CellHeight
	return image.Rect(x0, y0, x0+width*p.o.CellWidth, y0+p.o.CellHeight)
}

func (p *painter) fill(r image.Rectangle, c color.Color) {
	draw.Draw(p.img, r, image.NewUniform(c), image.Point{}, draw.Src)
}

func (p *painter) background(x, y int, c frame.Cell) {
	if _, bg := p.colors(c.Style); bg != p.o.Background {
		p.fill(p.cell(x, y, int(c.Width)), bg)
	}
}

// colors returns what the style's colours come out as.
func (p *painter) colors(s frame.Style) (fg, bg color.Color) {
	fg, bg = p.color(s.FG, p.o.Foreground), p.color(s.BG, p.o.Background)
	if s.Attr&frame.Reverse != 0 {
		fg, bg = bg, fg
	}
	if s.Attr&frame.Dim != 0 {
		fg = mix(fg, bg)
	}
	if s.Attr&frame.Conceal != 0 {
		fg = bg
	}
	return fg, bg
}

// palette16 are readable shades of the first palette colours on a dark ground.
var palette16 = [16]color.RGBA{
	{0x1c, 0x1f, 0x26, 255}, {0xe0, 0x5f, 0x65, 255}, {0x78, 0xb8, 0x72, 255}, {0xd9, 0xa8, 0x4e, 255},
	{0x5e, 0x9c, 0xe0, 255}, {0xb6, 0x7d, 0xd6, 255}, {0x4f, 0xb3, 0xb8, 255}, {0xc8, 0xcc, 0xd4, 255},
	{0x6b, 0x72, 0x80, 255}, {0xf0, 0x7c, 0x82, 255}, {0x93, 0xd0, 0x8c, 255}, {0xec, 0xc1, 0x6b, 255},
	{0x80, 0xb6, 0xf0, 255}, {0xcc, 0x9b, 0xe8, 255}, {0x72, 0xcd, 0xd2, 255}, {0xf2, 0xf4, 0xf8, 255},
}

func (p *painter) color(c frame.Color, def color.Color) color.Color {
	if i, ok := c.Index(); ok {
		if i < 16 {
			return palette16[i]
		}
		r, g, b := frame.PaletteRGB(i)
		return color.RGBA{r, g, b, 255}
	}
	if r, g, b, ok := c.Components(); ok {
		return color.RGBA{r, g, b, 255}
	}
	return def
}

func mix(a, b color.Color) color.Color {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	half := func(x, y uint32) uint8 { return uint8((3*x + 2*y) / 5 >> 8) }
	return color.RGBA{half(ar, br), half(ag, bg), half(ab, bb), 255}
}

func (p *painter) glyph(x, y int, c frame.Cell) {
	fg, _ := p.colors(c.Style)
	area := p.cell(x, y, int(c.Width))
	if c.Style.Attr&frame.Underline != 0 {
		p.fill(image.Rect(area.Min.X, area.Max.Y-2, area.Max.X, area.Max.Y-1), fg)
	}
	if c.Style.Attr&frame.Strike != 0 {
		mid := (area.Min.Y + area.Max.Y) / 2
		p.fill(image.Rect(area.Min.X, mid, area.Max.X, mid+1), fg)
	}
	for _, r := range c.Text {
		if r == ' ' || p.boxGlyph(area, r, fg) || p.typeset(area, r, c.Style.Attr, fg) {
			continue
		}
		if !invisible(r) {
			p.missing(area, fg)
		}
		if c.Width == 2 {
			return // the rest of a cluster no font here can join
		}
	}
}

func invisible(r rune) bool { return r == 0x200d || r >= 0xfe00 && r <= 0xfe0f }

// typeset draws r with the first font that has it.
func (p *painter) typeset(area image.Rectangle, r rune, attr frame.Attr, fg color.Color) bool {
	for _, faces := range p.o.Faces {
		face := faces.pick(attr)
		bounds, advance, ok := face.GlyphBounds(r)
		if !ok || advance == 0 && bounds.Empty() {
			continue
		}
		m := face.Metrics()
		base := area.Min.Y + (area.Dy()-m.Ascent.Ceil()-m.Descent.Ceil())/2 + m.Ascent.Ceil()
		dot := fixed.Point26_6{X: fixed.I(area.Min.X) + (fixed.I(area.Dx())-advance)/2, Y: fixed.I(base)}
		if advance == 0 { // a mark: it carries its own offset to the left
			dot.X = fixed.I(area.Max.X)
		}
		d := font.Drawer{Dst: p.img, Src: image.NewUniform(fg), Face: face, Dot: dot}
		d.DrawString(string(r))
		return true
	}
	return false
}

func (f Faces) pick(attr frame.Attr) font.Face {
	switch {
	case attr&frame.Bold != 0 && f.Bold != nil:
		return f.Bold
	case attr&frame.Italic != 0 && f.Italic != nil:
		return f.Italic
	}
	return f.Regular
}

// missing draws the outline that stands for a glyph no font has.
func (p *painter) missing(area image.Rectangle, fg color.Color) {
	r := area.Inset(2)
	p.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+1), fg)
	p.fill(image.Rect(r.Min.X, r.Max.Y-1, r.Max.X, r.Max.Y), fg)
	p.fill(image.Rect(r.Min.X, r.Min.Y, r.Min.X+1, r.Max.Y), fg)
	p.fill(image.Rect(r.Max.X-1, r.Min.Y, r.Max.X, r.Max.Y), fg)
}

func (p *painter) cursor(c frame.Cursor) {
	area := p.cell(c.X, c.Y, 1)
	switch c.Shape {
	case 3, 4:
		area.Min.Y = area.Max.Y - 2
	case 5, 6:
		area.Max.X = area.Min.X + 2
	default: // a block: what lies under it shows in reverse
		for y := area.Min.Y; y < area.Max.Y; y++ {
			for x := area.Min.X; x < area.Max.X; x++ {
				px := p.img.RGBAAt(x, y)
				p.img.SetRGBA(x, y, color.RGBA{255 - px.R, 255 - px.G, 255 - px.B, 255})
			}
		}
		return
	}
	p.fill(area, p.o.Foreground)
}
