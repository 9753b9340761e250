package term

import (
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/frame"
)

// history holds the lines that left the top of the primary screen, newest last, up
// to a number of lines and of bytes.
type history struct {
	ring     []line
	first, n int
	max      int
	bytes    int
	maxBytes int
	owed     int // lines that a shrinking screen put here and a growing one takes back
}

// line is a row of cells without its trailing blanks. A cell is its character in
// UTF-8, or clusterMark, a byte of length and width, and the cluster's text.
type line struct {
	text string
	runs []run // none: all in the default style
}

// run says how many cells in a row share a style.
type run struct {
	cells int32
	style frame.Style
}

const clusterMark = 0xff // never occurs in UTF-8

// cost is about what the line takes in memory.
func (l line) cost() int { return 48 + len(l.text) + 28*len(l.runs) }

func (h *history) limit(lines, bytes int) { h.max, h.maxBytes = max(0, lines), bytes }

func (h *history) keeps() bool { return h.max > 0 }

func (h *history) len() int { return h.n }

func (h *history) clear() { h.ring, h.first, h.n, h.bytes, h.owed = nil, 0, 0, 0, 0 }

// at returns a line; 0 is the oldest.
func (h *history) at(i int) line { return h.ring[(h.first+i)%len(h.ring)] }

func (h *history) push(l line) {
	h.bytes += l.cost()
	for h.n > 0 && (h.n == h.max || h.bytes > h.maxBytes) {
		h.dropOldest()
	}
	if h.n == len(h.ring) {
		grown := make([]line, min(h.max, max(64, 2*len(h.ring))))
		for i := range h.n {
			grown[i] = h.at(i)
		}
		h.ring, h.first = grown, 0
	}
	h.ring[(h.first+h.n)%len(h.ring)] = l
	h.n++
}

func (h *history) dropOldest() {
	h.bytes -= h.ring[h.first].cost()
	h.ring[h.first] = line{}
	h.first = (h.first + 1) % len(h.ring)
	h.n--
}

// pop takes the newest line off.
func (h *history) pop() line {
	h.n--
	i := (h.first + h.n) % len(h.ring)
	l := h.ring[i]
	h.ring[i] = line{}
	h.bytes -= l.cost()
	return l
}

// encodeLine packs a row of the screen.
func (e *engine) encodeLine(row []glyph) line {
	for len(row) > 0 && row[len(row)-1] == (glyph{' ', 0}) {
		row = row[:len(row)-1]
	}
	var runs []run
	text := e.scratch[:0]
	for len(row) > 0 {
		n := 1
		for n < len(row) && row[n].style == row[0].style {
			n++
		}
		runs = append(runs, run{int32(n), e.text.styles.list[row[0].style]})
		for _, g := range row[:n] {
			if g.r < utf8.RuneSelf {
				text = append(text, byte(g.r))
			} else {
				text = e.text.appendCell(text, g.r)
			}
		}
		row = row[n:]
	}
	e.scratch = text
	if len(runs) == 1 && runs[0].style == (frame.Style{}) {
		runs = nil
	}
	return line{text: string(text), runs: runs}
}

// appendCell appends the packed form of a cell's character.
func (t *texts) appendCell(b []byte, r rune) []byte {
	if c, ok := t.clusters.get(r); ok {
		b = append(b, clusterMark, byte(len(c.text))<<1|byte(c.width-1))
		return append(b, c.text...)
	}
	return utf8.AppendRune(b, r)
}

// cells unpacks the line, right halves included.
func (l line) cells(t *texts) []frame.Cell {
	var out []frame.Cell
	at, left := -1, 0
	var st frame.Style
	for i := 0; i < len(l.text); {
		if left == 0 && len(l.runs) > 0 {
			at++
			left, st = int(l.runs[at].cells), l.runs[at].style
		}
		left--
		if l.text[i] == clusterMark {
			n, w := int(l.text[i+1]>>1), l.text[i+1]&1+1
			out = append(out, frame.Cell{Text: l.text[i+2 : i+2+n], Width: w, Style: st})
			i += 2 + n
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[i:])
		i += n
		c := frame.Cell{Text: t.strings.get(r), Width: 1, Style: st}
		switch {
		case r == rightHalf && len(out) > 0 && out[len(out)-1].Width == 2:
			c.Text, c.Width = "", 0
		case r == rightHalf:
			c.Text = " "
		default:
			c.Width = uint8(max(1, t.widths.of(r)))
		}
		out = append(out, c)
	}
	for i := range out {
		if out[i].Width == 2 && (i+1 == len(out) || out[i+1].Width != 0) {
			out[i].Text, out[i].Width = t.halved(out[i].Text), 1
		}
	}
	return out
}
