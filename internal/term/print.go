package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// print implements handler.
func (e *engine) print(b []byte) {
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] < utf8.RuneSelf {
			n++
		}
		if n > 0 {
			e.printASCII(b[:n])
			b = b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		if r = drawable(r); r != 0 {
			e.printRune(r)
		}
	}
}

// printASCII prints a run of one-cell characters, row by row.
func (e *engine) printASCII(b []byte) {
	if e.mode.insert || e.cursor.charsets[e.cursor.shift] != 'B' {
		for _, c := range b {
			e.printCluster(graphic(e.cursor.charsets[e.cursor.shift], c), 1)
		}
		return
	}
	c := &e.cursor
	for len(b) > 0 {
		e.wrapIfPending()
		n := min(len(b), e.cols-c.x)
		if !e.mode.autowrap && n < len(b) {
			// What does not fit piles up in the last column.
			e.put(c.x, b[:n])
			e.put(e.cols-1, b[len(b)-1:])
			n = len(b)
		} else {
			e.put(c.x, b[:n])
		}
		e.last = lastCluster{open: true, x: min(c.x+n, e.cols) - 1, y: c.y, width: 1, end: rune(b[n-1])}
		e.advance(n)
		b = b[n:]
	}
}

func (e *engine) put(x int, text []byte) {
	e.on.core.write(x, e.cursor.y, text, e.cursor.styleID)
}

// advance moves the cursor right after printing.
func (e *engine) advance(n int) {
	e.cursor.x += n
	if e.cursor.x >= e.cols {
		e.cursor.x, e.cursor.wrap = e.cols-1, true
	}
}

// wrapIfPending performs the wrap that the last column put off.
func (e *engine) wrapIfPending() {
	if e.cursor.wrap {
		e.cursor.wrap = false
		if e.mode.autowrap {
			e.cursor.x = 0
			e.lineFeed()
		}
	}
}

func (e *engine) printRune(r rune) {
	if e.last.open && mayExtend(r, e.last.end) && extends(e.last.string(), r) {
		e.extend(r)
		return
	}
	width := e.text.widths.of(r)
	if width == 0 || r == zwj || r == vs15 || r == vs16 || r >= 0xe0020 && r <= 0xe007f {
		return // nothing to attach it to
	}
	e.printCluster(r, width)
}

// printCluster prints a character that begins a cluster.
func (e *engine) printCluster(r rune, width int) {
	e.wrapIfPending()
	c := &e.cursor
	if width == 2 && c.x+1 >= e.cols {
		if e.cols < 2 {
			r, width = unicode.ReplacementChar, 1
		} else if e.mode.autowrap {
			e.on.core.erase(c.x, c.x+1, c.y, e.eraseStyle())
			c.x = 0
			e.lineFeed()
		} else {
			c.x = e.cols - 2
		}
	}
	if e.mode.insert {
		e.shiftCells(width)
	}
	x := c.x
	e.place(x, r, width)
	e.advance(width)
	e.last = lastCluster{open: true, x: x, y: c.y, width: width, end: r}
}

// place writes one character and, when it is wide, its right half.
func (e *engine) place(x int, r rune, width int) {
	e.scratch = utf8.AppendRune(e.scratch[:0], r)
	if width == 2 {
		e.scratch = utf8.AppendRune(e.scratch, rightHalf)
	}
	e.put(x, e.scratch)
}

// extend adds r to the last cluster and draws it again.
func (e *engine) extend(r rune) {
	l := &e.last
	if l.x+l.width != e.cursor.x && !e.cursor.wrap || l.y != e.cursor.y || !e.joins(r) {
		return
	}
	text := l.string() + string(r)
	if len(text) > maxClusterBytes {
		return
	}
	width := e.clusterWidth(text)
	if width > l.width && l.x+2 > e.cols {
		if r == vs16 {
			return // no room to grow at the right edge: it stays as it is
		}
		width = l.width
	}
	id, ok := e.clusterID(text, width)
	if !ok {
		return
	}
	grown := width - l.width
	if grown > 0 && e.mode.insert {
		e.shiftCells(grown)
	}
	e.place(l.x, id, width)
	l.text, l.width, l.end = text, width, r
	if grown > 0 {
		e.advance(grown)
	}
}

// joins reports whether an invisible character may join the last cluster: selectors
// and joiners only after a pictograph or keycap base, tags only after the black flag.
// Elsewhere they would be a way to hide something in a cell.
func (e *engine) joins(r rune) bool {
	first, _ := utf8.DecodeRuneInString(e.last.string())
	switch {
	case r == zwj:
		return pictograph(first)
	case r == vs15, r == vs16:
		return pictograph(first) || first == '#' || first == '*' || first >= '0' && first <= '9'
	case r >= 0xe0020 && r <= 0xe007f:
		return first == 0x1f3f4
	}
	return true
}

func (e *engine) clusterWidth(text string) int {
	if e.opt.NarrowSelector {
		return max(e.last.width, 1)
	}
	if strings.ContainsFunc(text, skinTone) {
		return 2 // a toned hand is an emoji, whatever the hand alone is
	}
	// A cluster never shrinks: programs have already counted its first character.
	return min(2, max(e.last.width, stringWidth(text)))
}

// graphic maps a printed byte through the designated character set.
func graphic(charset, c byte) rune {
	if charset == '0' && c >= 0x60 && c <= 0x7e {
		return lineDrawing[c-0x60]
	}
	return rune(c)
}

// lineDrawing is the DEC special graphics set, from ` to ~.
var lineDrawing = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// repeat is REP: the last character n times more.
func (e *engine) repeat(n int) {
	l := e.last
	if l.width == 0 {
		return // nothing was printed yet
	}
	for range min(n, e.cols*e.rows) {
		e.last.open = false
		for _, r := range l.string() {
			e.printRune(r)
		}
	}
}
