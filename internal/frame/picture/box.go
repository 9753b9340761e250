package picture

import (
	"image"
	"image/color"
)

// Lines and blocks are drawn, not typeset, so that they meet at the cell edges
// whatever the font.

// arms says how a box character reaches its cell's edges: 0 not, 1 light, 2 heavy,
// 3 double; in the order up, right, down, left.
var arms = map[rune][4]byte{
	'─': {0, 1, 0, 1}, '│': {1, 0, 1, 0}, '┌': {0, 1, 1, 0}, '┐': {0, 0, 1, 1}, '└': {1, 1, 0, 0}, '┘': {1, 0, 0, 1},
	'├': {1, 1, 1, 0}, '┤': {1, 0, 1, 1}, '┬': {0, 1, 1, 1}, '┴': {1, 1, 0, 1}, '┼': {1, 1, 1, 1},
	'╭': {0, 1, 1, 0}, '╮': {0, 0, 1, 1}, '╰': {1, 1, 0, 0}, '╯': {1, 0, 0, 1},
	'━': {0, 2, 0, 2}, '┃': {2, 0, 2, 0}, '┏': {0, 2, 2, 0}, '┓': {0, 0, 2, 2}, '┗': {2, 2, 0, 0}, '┛': {2, 0, 0, 2},
	'┣': {2, 2, 2, 0}, '┫': {2, 0, 2, 2}, '┳': {0, 2, 2, 2}, '┻': {2, 2, 0, 2}, '╋': {2, 2, 2, 2},
	'═': {0, 3, 0, 3}, '║': {3, 0, 3, 0}, '╔': {0, 3, 3, 0}, '╗': {0, 0, 3, 3}, '╚': {3, 3, 0, 0}, '╝': {3, 0, 0, 3},
	'╠': {3, 3, 3, 0}, '╣': {3, 0, 3, 3}, '╦': {0, 3, 3, 3}, '╩': {3, 3, 0, 3}, '╬': {3, 3, 3, 3},
	'╴': {0, 0, 0, 1}, '╵': {1, 0, 0, 0}, '╶': {0, 1, 0, 0}, '╷': {0, 0, 1, 0},
}

// boxGlyph draws r if it is a line or a block.
func (p *painter) boxGlyph(area image.Rectangle, r rune, fg color.Color) bool {
	if a, ok := arms[r]; ok {
		p.lines(area, a, fg)
		return true
	}
	if r < 0x2580 || r > 0x259f {
		return false
	}
	p.block(area, r, fg)
	return true
}

func (p *painter) lines(area image.Rectangle, a [4]byte, fg color.Color) {
	cx, cy := (area.Min.X+area.Max.X)/2, (area.Min.Y+area.Max.Y)/2
	for dir, weight := range a {
		var offsets []int
		half := 1
		switch weight {
		case 0:
			continue
		case 1:
			offsets = []int{0}
		case 2:
			offsets, half = []int{0}, 2
		case 3:
			offsets = []int{-2, 2}
		}
		for _, o := range offsets {
			var r image.Rectangle
			switch dir {
			case 0:
				r = image.Rect(cx+o-half/2, area.Min.Y, cx+o-half/2+half, cy+half)
			case 1:
				r = image.Rect(cx-half/2, cy+o-half/2, area.Max.X, cy+o-half/2+half)
			case 2:
				r = image.Rect(cx+o-half/2, cy-half/2, cx+o-half/2+half, area.Max.Y)
			case 3:
				r = image.Rect(area.Min.X, cy+o-half/2, cx+half, cy+o-half/2+half)
			}
			p.fill(r, fg)
		}
	}
}

// quadrants of U+2596 to U+259F: bits upper left, upper right, lower left, lower right.
var quadrants = [...]byte{4, 8, 1, 13, 9, 7, 11, 2, 6, 14}

func (p *painter) block(a image.Rectangle, r rune, fg color.Color) {
	w, h := a.Dx(), a.Dy()
	switch {
	case r == '▀':
		p.fill(image.Rect(a.Min.X, a.Min.Y, a.Max.X, a.Min.Y+h/2), fg)
	case r <= '█': // lower eighths
		n := int(r - 0x2580)
		p.fill(image.Rect(a.Min.X, a.Max.Y-h*n/8, a.Max.X, a.Max.Y), fg)
	case r <= '▏': // left eighths, from seven down
		n := 7 - int(r-'▉')
		p.fill(image.Rect(a.Min.X, a.Min.Y, a.Min.X+w*n/8, a.Max.Y), fg)
	case r == '▐':
		p.fill(image.Rect(a.Min.X+w/2, a.Min.Y, a.Max.X, a.Max.Y), fg)
	case r <= '▓': // shades
		p.shade(a, int(r-'░')+1, fg)
	case r == '▔':
		p.fill(image.Rect(a.Min.X, a.Min.Y, a.Max.X, a.Min.Y+max(1, h/8)), fg)
	case r == '▕':
		p.fill(image.Rect(a.Max.X-max(1, w/8), a.Min.Y, a.Max.X, a.Max.Y), fg)
	default:
		q := quadrants[r-'▖']
		mid := image.Pt(a.Min.X+w/2, a.Min.Y+h/2)
		for i, part := range [...]image.Rectangle{
			{a.Min, mid}, image.Rect(mid.X, a.Min.Y, a.Max.X, mid.Y),
			image.Rect(a.Min.X, mid.Y, mid.X, a.Max.Y), {mid, a.Max},
		} {
			if q&(1<<i) != 0 {
				p.fill(part, fg)
			}
		}
	}
}

// shade fills a quarter, half or three quarters of the pixels.
func (p *painter) shade(a image.Rectangle, quarters int, fg color.Color) {
	order := [2][2]int{{0, 2}, {3, 1}}
	for y := a.Min.Y; y < a.Max.Y; y++ {
		for x := a.Min.X; x < a.Max.X; x++ {
			if order[y&1][x&1] < quarters {
				p.img.Set(x, y, fg)
			}
		}
	}
}
