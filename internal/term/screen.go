package term

import "lazaret.dev/lazaret/internal/frame"

// eraseStyle is what uncovered and erased cells look like: the background only.
func (e *engine) eraseStyle() uint32 {
	bg := e.cursor.style.BG
	if bg.IsDefault() {
		return 0
	}
	return e.style(frame.Style{BG: bg})
}

// lineFeed moves the cursor down, scrolling at the bottom margin.
func (e *engine) lineFeed() {
	switch {
	case e.cursor.y == e.margins.bottom:
		e.scroll(1)
	case e.cursor.y < e.rows-1:
		e.cursor.y++
	}
}

// reverseFeed is RI.
func (e *engine) reverseFeed() {
	switch {
	case e.cursor.y == e.margins.top:
		e.scroll(-1)
	case e.cursor.y > 0:
		e.cursor.y--
	}
}

// scroll moves the scrolling region up by n, down when n < 0. Rows that leave the
// top of the primary screen go to the history.
func (e *engine) scroll(n int) {
	top, bottom := e.margins.top, e.margins.bottom
	size := bottom - top + 1
	n = min(max(n, -size), size)
	if n > 0 && top == 0 && e.on == e.main {
		e.remember(n)
	}
	e.on.core.scroll(top, bottom, n, e.eraseStyle())
}

// remember copies the first n rows of the primary screen to the history.
func (e *engine) remember(n int) {
	if !e.history.keeps() {
		return
	}
	for y := range n {
		e.rowCells = e.main.core.row(y, e.rowCells[:0])
		e.history.push(e.encodeLine(e.rowCells))
	}
}

// shiftCells moves the rest of the cursor's row right by n, left when n < 0.
func (e *engine) shiftCells(n int) {
	c := e.cursor
	room := e.cols - c.x
	n = min(max(n, -room), room)
	st := e.eraseStyle()
	e.on.core.shift(c.x, c.y, n, st)
	if e.on.width > e.cols {
		// What lies beyond the right edge was shifted too: it is lost.
		from := e.cols
		if n < 0 {
			from += n
		}
		e.on.core.erase(from, e.cols, c.y, st)
		e.on.core.erase(e.cols, e.on.width, c.y, 0)
	}
}

// moveRows is IL and DL: the rows from the cursor to the bottom margin move down by
// n, up when n < 0.
func (e *engine) moveRows(n int) {
	y := e.cursor.y
	if y < e.margins.top || y > e.margins.bottom {
		return
	}
	size := e.margins.bottom - y + 1
	e.on.core.scroll(y, e.margins.bottom, -min(max(n, -size), size), e.eraseStyle())
	e.cursor.x = 0
}

// eraseRows blanks whole rows, from first to last.
func (e *engine) eraseRows(first, last int) {
	st := e.eraseStyle()
	for y := first; y <= last; y++ {
		e.eraseCells(0, e.cols, y, st)
	}
}

// eraseCells blanks cells of a row; up to the right edge means beyond it as well.
func (e *engine) eraseCells(x0, x1, y int, st uint32) {
	e.on.core.erase(x0, x1, y, st)
	if x1 == e.cols && e.on.width > e.cols {
		e.on.core.erase(e.cols, e.on.width, y, 0)
	}
}

// eraseDisplay is ED.
func (e *engine) eraseDisplay(what int) {
	c := e.cursor
	st := e.eraseStyle()
	switch what {
	case 0:
		e.eraseCells(c.x, e.cols, c.y, st)
		e.eraseRows(c.y+1, e.rows-1)
	case 1:
		e.eraseRows(0, c.y-1)
		e.eraseCells(0, c.x+1, c.y, st)
	case 2:
		e.eraseRows(0, e.rows-1)
	case 3:
		e.history.clear()
	}
}

// eraseLine is EL.
func (e *engine) eraseLine(what int) {
	c := e.cursor
	st := e.eraseStyle()
	switch what {
	case 0:
		e.eraseCells(c.x, e.cols, c.y, st)
	case 1:
		e.eraseCells(0, c.x+1, c.y, st)
	case 2:
		e.eraseCells(0, e.cols, c.y, st)
	}
}

// moveTo puts the cursor at a position counted from the origin in force.
func (e *engine) moveTo(x, y int) {
	top, bottom := 0, e.rows-1
	if e.cursor.origin {
		top, bottom = e.margins.top, e.margins.bottom
		y += top
	}
	e.cursor.x = min(max(0, x), e.cols-1)
	e.cursor.y = min(max(top, y), bottom)
	e.cursor.wrap = false
}

// moveRow moves the cursor by dy rows; a margin it has not passed stops it.
func (e *engine) moveRow(dy int) {
	c := &e.cursor
	top, bottom := 0, e.rows-1
	if c.y >= e.margins.top {
		top = e.margins.top
	}
	if c.y <= e.margins.bottom {
		bottom = e.margins.bottom
	}
	c.y = min(max(top, c.y+dy), bottom)
	c.wrap = false
}

func (e *engine) moveColumn(x int) {
	e.cursor.x = min(max(0, x), e.cols-1)
	e.cursor.wrap = false
}

// tab moves n tab stops right, left when n < 0.
func (e *engine) tab(n int) {
	x := e.cursor.x
	for ; n > 0 && x < e.cols-1; n-- {
		for x++; x < e.cols-1 && !e.tabs[x]; x++ {
		}
	}
	for ; n < 0 && x > 0; n++ {
		for x--; x > 0 && !e.tabs[x]; x-- {
		}
	}
	e.moveColumn(x)
}

func (e *engine) saveCursor() { e.on.saved = e.cursor }

func (e *engine) restoreCursor() {
	e.cursor = e.on.saved
	e.cursor.x = min(e.cursor.x, e.cols-1)
	e.cursor.y = min(e.cursor.y, e.rows-1)
	e.cursor.styleID = e.style(e.cursor.style)
}

// useAlternate switches screens; the alternate one always begins blank.
func (e *engine) useAlternate(on bool) {
	e.last.open = false
	switch {
	case on == (e.on == e.alt):
	case !on:
		for y := range e.rows {
			e.alt.core.erase(0, e.cols, y, 0)
		}
		e.alt.saved, e.alt.kitty = newCursor(), kittyFlags{}
		e.on = e.main
	case e.alt == nil:
		e.alt = e.newScreen()
		fallthrough
	default:
		e.on = e.alt
	}
}

// align is DECALN: a screen full of E.
func (e *engine) align() {
	e.margins.top, e.margins.bottom = 0, e.rows-1
	row := make([]byte, e.cols)
	for x := range row {
		row[x] = 'E'
	}
	for y := range e.rows {
		e.on.core.write(0, y, row, 0)
	}
	e.moveTo(0, 0)
}
