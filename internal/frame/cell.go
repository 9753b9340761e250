package frame

// Color is a terminal colour. The zero value is the terminal's default.
type Color struct {
	kind  colorKind
	value uint32
}

type colorKind uint8

const (
	colorDefault colorKind = iota
	colorIndexed
	colorRGB
)

// Indexed is one of the 256 palette colours.
func Indexed(i uint8) Color { return Color{kind: colorIndexed, value: uint32(i)} }

// RGB is a 24-bit colour.
func RGB(r, g, b uint8) Color {
	return Color{kind: colorRGB, value: uint32(r)<<16 | uint32(g)<<8 | uint32(b)}
}

// IsDefault reports whether c is the terminal's own colour.
func (c Color) IsDefault() bool { return c.kind == colorDefault }

// Index returns the palette index of an indexed colour.
func (c Color) Index() (uint8, bool) { return uint8(c.value), c.kind == colorIndexed }

// Components returns the channels of a 24-bit colour.
func (c Color) Components() (r, g, b uint8, ok bool) {
	return uint8(c.value >> 16), uint8(c.value >> 8), uint8(c.value), c.kind == colorRGB
}

// Attr is a set of text attributes.
type Attr uint16

// The attributes.
const (
	Bold Attr = 1 << iota
	Dim
	Italic
	Underline
	Blink
	Reverse
	Conceal
	Strike
)

// Style is how a cell looks.
type Style struct {
	FG, BG Color
	Attr   Attr
}

// Cell is one grid position. A wide glyph is a lead cell of Width 2 followed by
// a continuation cell of Width 0; everything else has Width 1. Text holds one
// grapheme cluster without control characters; empty means blank.
type Cell struct {
	Text  string
	Width uint8
	Style Style
}

// Blank is an empty cell in the given style.
func Blank(s Style) Cell { return Cell{Text: " ", Width: 1, Style: s} }

// Cursor is where a grid wants the terminal's cursor.
type Cursor struct {
	X, Y    int
	Visible bool
	Shape   CursorShape
}

// CursorShape is a DECSCUSR parameter, 0 for the terminal's own.
type CursorShape uint8
