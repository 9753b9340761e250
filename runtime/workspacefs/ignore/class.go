package ignore

import "strings"

// A set has one bit for each byte, that of byte c at [c>>3] and 1<<(c&7).
type set [32]byte

// readClass reads the class that begins at p[i] and returns it with the place
// behind it; it is false if the class is malformed. Which bytes are special where
// follows git:
//
//	"!" or "^" first         everything but
//	"]" first (or after it)  itself
//	a-b                      a range, unless "-" is first, last, or follows a range or [:name:]
//	\x                       x itself, as a range's end too
//	[:name:]                 a POSIX class; an unknown name spoils the whole class
//	"[:" without ":]"        "[" itself
//
// "/" is never in a class.
func readClass(p string, i int) (members set, next int, ok bool) {
	i++
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	var it item
	for first := true; first || i < len(p) && p[i] != ']'; first = false {
		if it, i, ok = readItem(p, i, it.last); !ok {
			return members, i, false
		}
		it.addTo(&members)
	}
	if negated {
		for k := range members {
			members[k] = ^members[k]
		}
	}
	members['/'>>3] &^= 1 << ('/' & 7)
	return members, i + 1, i < len(p)
}

// An item is one member of a class.
type item struct {
	low, high byte
	named     func(byte) bool // which of them, nil for all
	last      byte            // what a "-" behind it would begin a range with, 0 for nothing
}

func (it item) addTo(members *set) {
	for c := int(it.low); c <= int(it.high); c++ {
		if it.named == nil || it.named(byte(c)) {
			members[c>>3] |= 1 << (c & 7)
		}
	}
}

// readItem reads the member at p[i]; last is the last field of the one before.
func readItem(p string, i int, last byte) (item, int, bool) {
	if i >= len(p) {
		return item{}, i, false
	}
	switch {
	case p[i] == '-' && last != 0 && i+1 < len(p) && p[i+1] != ']':
		high, next, ok := readByte(p, i+1)
		return item{low: last, high: high}, next, ok
	case strings.HasPrefix(p[i:], "[:"):
		end := strings.IndexByte(p[i+2:], ']')
		if end < 0 {
			return item{}, i, false
		}
		if name, ok := strings.CutSuffix(p[i+2:i+2+end], ":"); ok {
			named := posix[name]
			return item{high: 0xff, named: named}, i + end + 3, named != nil
		}
		return item{low: '[', high: '[', last: '['}, i + 1, true
	}
	b, next, ok := readByte(p, i)
	return item{low: b, high: b, last: b}, next, ok
}

// readByte reads a byte that a backslash may quote.
func readByte(p string, i int) (b byte, next int, ok bool) {
	if p[i] == '\\' {
		i++
	}
	if i >= len(p) {
		return 0, i, false
	}
	return p[i], i + 1, true
}

func between(c, low, high byte) bool { return low <= c && c <= high }

// posix are the named classes, over ASCII whatever the locale. Git's [:space:]
// leaves out the vertical tab and the form feed.
var posix = map[string]func(byte) bool{
	"alpha":  alpha,
	"digit":  digit,
	"alnum":  func(c byte) bool { return alpha(c) || digit(c) },
	"upper":  func(c byte) bool { return between(c, 'A', 'Z') },
	"lower":  func(c byte) bool { return between(c, 'a', 'z') },
	"xdigit": func(c byte) bool { return digit(c) || between(c|0x20, 'a', 'f') },
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"space":  func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' },
	"cntrl":  func(c byte) bool { return c < 0x20 || c == 0x7f },
	"graph":  graph,
	"print":  func(c byte) bool { return c == ' ' || graph(c) },
	"punct":  func(c byte) bool { return graph(c) && !alpha(c) && !digit(c) },
}

func alpha(c byte) bool { return between(c|0x20, 'a', 'z') }
func digit(c byte) bool { return between(c, '0', '9') }
func graph(c byte) bool { return between(c, 0x21, 0x7e) }
