package term

import (
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/frame"
)

// glyph is what a screen stores per cell: 8 bytes. The character is one of Unicode,
// or stands for a cluster, or for the right half of the wide glyph before it. The
// style is an index into the style table.
type glyph struct {
	r     rune
	style uint32
}

// Characters with a meaning of our own lie in planes that Unicode has not assigned,
// so that they pass through any engine as ordinary characters. Programs that print
// these code points get U+FFFD.
const (
	firstReserved rune = 0x3fffe
	rightHalf     rune = 0x3fffe
	firstCluster  rune = 0x40000
	lastReserved  rune = firstCluster + maxClusters - 1
)

// Limits on what a program can make a pane remember.
const (
	maxClusters     = 16 << 10
	maxClusterBytes = 64
	maxStyles       = 64 << 10
	sweepWorth      = 4 << 10 // free entries below which sweeping again is no use
)

// clusters gives characters to grapheme clusters of more than one character.
type clusters struct {
	ids  map[string]rune
	list []cluster
	free []rune
}

type cluster struct {
	text  string
	width int8
}

// id returns the character that stands for text, false when the table is full.
func (c *clusters) id(text string, width int) (rune, bool) {
	// The same text can be narrow at the right edge, where it found no room.
	key := text
	if width == 2 {
		key = text + "\x02"
	}
	if id, ok := c.ids[key]; ok {
		return id, true
	}
	var id rune
	switch {
	case len(c.free) > 0:
		id = c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
	case len(c.list) < maxClusters:
		id = firstCluster + rune(len(c.list))
		c.list = append(c.list, cluster{})
	default:
		return 0, false
	}
	if c.ids == nil {
		c.ids = make(map[string]rune)
	}
	c.ids[key] = id
	c.list[id-firstCluster] = cluster{text: text, width: int8(width)}
	return id, true
}

// keep drops every cluster whose character is not in used.
func (c *clusters) keep(used map[rune]bool) {
	for key, id := range c.ids {
		if !used[id] {
			delete(c.ids, key)
			c.list[id-firstCluster] = cluster{}
			c.free = append(c.free, id)
		}
	}
}

func (c *clusters) room() int { return maxClusters - len(c.list) + len(c.free) }

func (c *clusters) get(r rune) (cluster, bool) {
	i := int(r - firstCluster)
	if i < 0 || i >= len(c.list) {
		return cluster{}, false
	}
	return c.list[i], true
}

// styles gives numbers to styles; 0 is the default one.
type styles struct {
	ids  map[frame.Style]uint32
	list []frame.Style
	free []uint32
}

func newStyles() styles {
	return styles{ids: map[frame.Style]uint32{{}: 0}, list: make([]frame.Style, 1)}
}

func (s *styles) id(st frame.Style) (uint32, bool) {
	if id, ok := s.ids[st]; ok {
		return id, true
	}
	var id uint32
	switch {
	case len(s.free) > 0:
		id = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		s.list[id] = st
	case len(s.list) < maxStyles:
		id = uint32(len(s.list))
		s.list = append(s.list, st)
	default:
		return 0, false
	}
	s.ids[st] = id
	return id, true
}

func (s *styles) room() int { return maxStyles - len(s.list) + len(s.free) }

// keep drops every style whose number is not in used.
func (s *styles) keep(used map[uint32]bool) {
	for st, id := range s.ids {
		if id != 0 && !used[id] {
			delete(s.ids, st)
			s.free = append(s.free, id)
		}
	}
}

// runeStrings hands out one-character strings without allocating the usual ones.
type runeStrings map[rune]string

const maxRuneStrings = 4096

func (c runeStrings) get(r rune) string {
	if r < utf8.RuneSelf {
		return asciiText[r : r+1]
	}
	if s, ok := c[r]; ok {
		return s
	}
	if len(c) >= maxRuneStrings {
		clear(c)
	}
	s := string(r)
	c[r] = s
	return s
}

const asciiText = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f" +
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\x7f"
