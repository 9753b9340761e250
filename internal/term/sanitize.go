package term

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Sanitize makes guest text safe to draw and to judge: every character that could
// drive a terminal, reorder the line, or not be seen at all is shown as an escape
// such as \x1b, \u{202e} or \u{200b}. Line feeds and tabs are escaped too (\n, \t);
// invalid UTF-8 becomes \xNN. Everything else, CJK and emoji included, is returned
// unchanged; a joiner or variation selector is left alone only where it belongs to
// an emoji. Escaping is for the eye, not reversible: a backslash stays a backslash.
func Sanitize(s string) string { return sanitize(s, false) }

// SanitizeLines is Sanitize for text of several lines: line feeds stay, a carriage
// return before one is dropped, and a tab becomes four spaces.
func SanitizeLines(s string) string { return sanitize(s, true) }

// SanitizeLine is Sanitize cut to at most width cells, with an ellipsis when
// something was cut.
func SanitizeLine(s string, width int) string { return cutWidth(sanitize(s, false), width) }

// Suspicious reports whether Sanitize would change s: the text hides something.
func Suspicious(s string) bool { return firstUnsafe(s, false) < len(s) }

func sanitize(s string, lines bool) string {
	i := firstUnsafe(s, lines)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for {
		b.WriteString(s[:i])
		s = s[i:]
		if s == "" {
			return b.String()
		}
		n := writeEscape(&b, s, lines)
		// The rest is judged with what stands before it in view, so that a
		// joiner after an escape does not count as part of an emoji.
		s = s[n:]
		i = firstUnsafe(s, lines)
	}
}

// firstUnsafe returns where the first character to escape stands, else len(s).
func firstUnsafe(s string, lines bool) int {
	var before rune // the last character that was kept
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f {
			before = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			return i
		case lines && r == '\n':
		case hidden(r) && !inEmoji(before, r, s[i+n:]):
			return i
		case before == 0 && unicode.In(r, unicode.Mn, unicode.Me):
			return i // would be drawn over whatever stands in front of the text
		}
		before = r
		i += n
	}
	return len(s)
}

// writeEscape writes the visible form of the first character of s and returns the
// bytes it stands for.
func writeEscape(b *strings.Builder, s string, lines bool) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n <= 1:
		writeHex(b, s[0])
		return 1
	case r == '\t' && lines:
		b.WriteString("    ")
	case r == '\r' && lines && strings.HasPrefix(s[n:], "\n"):
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0xa0:
		writeHex(b, byte(r))
	default:
		b.WriteString(`\u{`)
		b.WriteString(strconv.FormatInt(int64(r), 16))
		b.WriteByte('}')
	}
	return n
}

func writeHex(b *strings.Builder, c byte) {
	const digits = "0123456789abcdef"
	b.WriteString(`\x`)
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// cutWidth cuts s to width cells, the last of them an ellipsis.
func cutWidth(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	used, end, state := 0, 0, -1
	for rest := s; rest != ""; {
		var w int
		var cluster string
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width-1 {
			break
		}
		used += w
		end += len(cluster)
	}
	return s[:end] + "…"
}

const (
	zwj  = '\u200d'
	vs15 = '\ufe0e'
	vs16 = '\ufe0f'
)

// hidden reports whether r controls the terminal or the line, or draws nothing.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r < 0xa0:
		return false
	case r == 0x2028, r == 0x2029:
		return true
	case r == 0x2800: // braille blank: a blank that is not a space, used to pad
		return false
	}
	return ignorable(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) && !iconFont(r) ||
		unicode.Is(unicode.Noncharacter_Code_Point, r)
}

// ignorable is Unicode's Default_Ignorable_Code_Point, derived as in its DerivedCoreProperties.
func ignorable(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x180e:
		return true
	case r >= 0x115f && r <= 0x1160, r == 0x3164, r == 0xffa0: // Hangul fillers
		return true
	case r >= 0x17b4 && r <= 0x17b5, r >= 0x180b && r <= 0x180f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
		return true
	case r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff // tags, variation selectors, reserved
}

// iconFont reports the private-use areas that developers' patched fonts draw icons
// from; they are visible and change nothing else.
func iconFont(r rune) bool {
	return r >= 0xe000 && r <= 0xf8ff || r >= 0xf0000 && r <= 0xf1fff
}

// inEmoji reports whether the ignorable r, between before and after, only shapes an
// emoji: a selector after a pictograph or keycap base, a joiner between two.
func inEmoji(before, r rune, after string) bool {
	switch r {
	case vs16, vs15:
		next, _ := utf8.DecodeRuneInString(after)
		keycap := next == 0x20e3 && (before == '#' || before == '*' || before >= '0' && before <= '9')
		return keycap || pictograph(before)
	case zwj:
		next, _ := utf8.DecodeRuneInString(after)
		return (pictograph(before) || before == vs16 || skinTone(before)) && pictograph(next)
	}
	return false
}

func skinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// pictograph covers the blocks emoji live in; generous on purpose, all of it visible.
func pictograph(r rune) bool {
	switch {
	case r == 0xa9, r == 0xae, r == 0x203c, r == 0x2049, r == 0x3030, r == 0x303d, r == 0x3297, r == 0x3299:
		return true
	case r >= 0x2100 && r <= 0x21ff, r >= 0x2300 && r <= 0x27ff, r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff:
		return r != 0x2800
	}
	return r >= 0x1f000 && r <= 0x1faff
}
