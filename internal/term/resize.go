package term

import "unicode/utf8"

// maxKeptColumns is how wide a primary screen stays when its pane gets narrower.
const maxKeptColumns = 512

// Resize implements Emulator. The primary screen is not wrapped anew: rows keep what
// lies right of a narrower pane until it is written over; rows that leave at the top
// go to the history and come back from it.
func (e *engine) Resize(cols, rows int) {
	cols, rows = max(1, cols), max(1, rows)
	if cols == e.cols && rows == e.rows {
		return
	}
	full := e.margins.top == 0 && e.margins.bottom == e.rows-1
	e.resizeMain(cols, rows)
	if e.alt != nil {
		e.alt.core.resize(cols, rows)
		e.alt.width = cols
		e.alt.saved = clampCursor(e.alt.saved, cols, rows)
	}
	e.main.saved = clampCursor(e.main.saved, cols, rows)
	e.cursor = clampCursor(e.cursor, cols, rows)
	e.cols, e.rows = cols, rows
	e.tabs = append(e.tabs[:min(len(e.tabs), cols)], newTabs(cols)[min(len(e.tabs), cols):]...)
	if full || e.margins.bottom >= rows || e.margins.top >= rows {
		e.margins.top, e.margins.bottom = 0, rows-1
	}
	e.last.open = false
	e.sync = syncState{changed: true}
}

func clampCursor(c cursor, cols, rows int) cursor {
	if c.x >= cols || c.y >= rows {
		c.wrap = false
	}
	c.x, c.y = min(c.x, cols-1), min(max(0, c.y), rows-1)
	return c
}

// resizeMain resizes the primary screen, keeping the row of its cursor in sight.
func (e *engine) resizeMain(cols, rows int) {
	m, c := e.main, &e.cursor
	if e.on == e.alt {
		c = &m.saved // where the program comes back to
	}
	atBottom := c.y == e.rows-1
	if n := c.y - rows + 1; n > 0 {
		e.remember(n)
		e.history.owed += n
		m.core.scroll(0, e.rows-1, n, 0)
		c.y -= n
		if c != &m.saved {
			m.saved.y -= n
		}
	}
	width := cols
	if m.width > cols && m.width <= maxKeptColumns {
		width = m.width
	}
	m.core.resize(width, rows)
	m.width = width
	n := min(rows-e.rows, e.history.len())
	if !atBottom {
		n = min(n, e.history.owed) // older lines were not in sight before either
	}
	if n <= 0 {
		return
	}
	e.history.owed = max(0, e.history.owed-n)
	m.core.scroll(0, rows-1, -n, 0)
	for y := n - 1; y >= 0; y-- {
		e.recall(y)
	}
	c.y += n
	if c != &m.saved {
		m.saved.y += n
	}
}

// recall puts the newest line of the history back on a row of the primary screen.
func (e *engine) recall(y int) {
	for x, c := range e.history.pop().cells(&e.text) {
		if x >= e.main.width {
			break
		}
		r := rightHalf
		if c.Width > 0 {
			var n int
			if r, n = utf8.DecodeRuneInString(c.Text); n < len(c.Text) {
				if id, ok := e.clusterID(c.Text, int(c.Width)); ok {
					r = id
				}
			}
		}
		e.scratch = utf8.AppendRune(e.scratch[:0], r)
		e.main.core.write(x, y, e.scratch, e.style(c.Style))
	}
}
