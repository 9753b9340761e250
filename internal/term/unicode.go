package term

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func fullRune(b []byte) bool { return utf8.FullRune(b) }

// cutTail returns how many bytes at the end of b begin a character that is cut.
func cutTail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if c < 0x80 {
			return 0
		}
		if utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// widths remembers the widths of characters; looking them up is slow.
type widths [512]struct {
	r rune
	w int8
}

// of returns how many cells r takes when it stands alone: 0, 1 or 2.
func (t *widths) of(r rune) int {
	if r < 0x300 {
		return 1
	}
	if skinTone(r) {
		return 2 // alone it is a swatch
	}
	if r == unicode.ReplacementChar || r == 0x2e3a || r == 0x2e3b {
		return 1 // the long dashes overhang, as in every terminal
	}
	e := &t[uint32(r)%uint32(len(t))]
	if e.r != r {
		var buf [utf8.UTFMax]byte
		n := utf8.EncodeRune(buf[:], r)
		_, _, w, _ := uniseg.FirstGraphemeCluster(buf[:n], -1)
		e.r, e.w = r, int8(min(w, 2))
		if w == 1 && !unicode.IsPrint(r) && !iconFont(r) && unicode.In(r, unicode.Mn, unicode.Me) {
			e.w = 0
		}
	}
	return int(e.w)
}

// mayExtend reports whether r could belong to the cluster before it: a cheap test
// that is true for everything that does.
func mayExtend(r, before rune) bool {
	switch {
	case r < 0x300:
		return false
	case before == zwj:
		return true
	case r < 0x2000:
		return (r < 0x370 || r >= 0x483) && (r < 0x531 || r >= 0x591)
	case r < 0x3000:
		return r == zwj || r >= 0x20d0 && r <= 0x20ff || r >= 0x2cef && r <= 0x2cf1 || r == 0x2d7f || r >= 0x2de0 && r <= 0x2dff
	case r < 0xa66f:
		return r >= 0x302a && r <= 0x302f || r == 0x3099 || r == 0x309a
	case r >= 0xac00 && r < 0xd7a4:
		return before >= 0x1100 && before < 0x1160 // a syllable after a leading jamo
	}
	return true
}

// extends reports whether r belongs to the same grapheme cluster as text.
func extends(text string, r rune) bool {
	joined := text + string(r)
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(joined, -1)
	return len(cluster) == len(joined)
}

// drawable returns the character to put on the screen for r, 0 to drop it. Text that
// draws nothing or would reorder what others drew never gets into a cell.
func drawable(r rune) rune {
	switch {
	case r >= 0x2070 && r < 0xd800 && r != 0x3164, pictograph(r):
		return r // symbols, ideographs, syllables: nothing to look up
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return 0
	case r < 0xa0:
		return r
	case r == 0xad: // soft hyphen: programs count it as a cell
		return '-'
	case r == 0x2028, r == 0x2029:
		return 0
	case r == zwj, r == vs15, r == vs16, r >= 0xe0020 && r <= 0xe007f:
		return r // only as part of a cluster: see printer.extend
	case r >= firstReserved && r <= lastReserved, unicode.Is(unicode.Noncharacter_Code_Point, r):
		return unicode.ReplacementChar
	case hidden(r):
		if unicode.Is(unicode.Co, r) {
			return unicode.ReplacementChar
		}
		return 0
	}
	return r
}

func stringWidth(s string) int { return uniseg.StringWidth(s) }
