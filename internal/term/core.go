package term

// core keeps the cells of one screen. The engine in front of it owns everything
// else (cursor, margins, wrapping, modes, widths), clamps every argument to the
// screen, and knows no other way to change a cell. Rows and columns count from 0.
type core interface {
	resize(cols, rows int)
	// write puts text, one character per cell, at x, y; it ends within the row.
	write(x, y int, text []byte, style uint32)
	// erase blanks the cells x0 to x1-1 of a row.
	erase(x0, x1, y int, style uint32)
	// scroll moves the rows top to bottom up by n (down when n < 0) and blanks
	// what is uncovered.
	scroll(top, bottom, n int, style uint32)
	// shift moves the cells from x to the row's end right by n (left when n < 0)
	// and blanks what is uncovered.
	shift(x, y, n int, style uint32)
	// row appends the cells of a row to dst.
	row(y int, dst []glyph) []glyph
}

func newCore(e Engine, cols, rows int) core {
	if e == Native {
		return newNativeCore(cols, rows)
	}
	return newVT10xCore(cols, rows)
}
