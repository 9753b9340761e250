package input

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// key is one decoded key press.
type key struct {
	code    rune // the character, or one of the codes below for a named key
	shifted rune // what Shift makes of it, when reported
	mods    mods
	release bool
	kitty   bool // came as CSI … u
}

// mods are modifier bits as xterm and kitty number them (parameter minus one).
type mods uint8

const (
	shift   mods = 1
	alt     mods = 2
	control mods = 4
	super   mods = 8
)

// Codes of keys without a character: above Unicode.
const (
	keyUp rune = unicode.MaxRune + 1 + iota
	keyDown
	keyRight
	keyLeft
	keyHome
	keyEnd
	keyInsert
	keyDelete
	keyPageUp
	keyPageDown
	keyBegin
	keyF1 // to F20, in order
)

const (
	keyTab       rune = 9
	keyEnter     rune = 13
	keyEscape    rune = 27
	keyBackspace rune = 127
)

var keyNames = map[rune]string{
	keyUp: "up", keyDown: "down", keyRight: "right", keyLeft: "left", keyHome: "home", keyEnd: "end",
	keyInsert: "insert", keyDelete: "delete", keyPageUp: "pgup", keyPageDown: "pgdown", keyBegin: "begin",
	keyTab: "tab", keyEnter: "enter", keyEscape: "esc", keyBackspace: "backspace", ' ': "space",
}

// letterKeys are the finals of CSI and SS3 cursor and function keys.
var letterKeys = map[byte]rune{
	'A': keyUp, 'B': keyDown, 'C': keyRight, 'D': keyLeft, 'H': keyHome, 'F': keyEnd, 'E': keyBegin,
	'P': keyF1, 'Q': keyF1 + 1, 'R': keyF1 + 2, 'S': keyF1 + 3, 'M': keyEnter,
}

// tildeKeys are the numbers of CSI … ~ keys.
var tildeKeys = map[int]rune{
	1: keyHome, 2: keyInsert, 3: keyDelete, 4: keyEnd, 5: keyPageUp, 6: keyPageDown, 7: keyHome, 8: keyEnd,
	11: keyF1, 12: keyF1 + 1, 13: keyF1 + 2, 14: keyF1 + 3, 15: keyF1 + 4, 17: keyF1 + 5, 18: keyF1 + 6,
	19: keyF1 + 7, 20: keyF1 + 8, 21: keyF1 + 9, 23: keyF1 + 10, 24: keyF1 + 11, 25: keyF1 + 12,
	26: keyF1 + 13, 28: keyF1 + 14, 29: keyF1 + 15, 31: keyF1 + 16, 32: keyF1 + 17, 33: keyF1 + 18, 34: keyF1 + 19,
}

// kittyKeys are the keypad keys of the kitty protocol that have a plain twin.
var kittyKeys = map[rune]rune{
	57409: '.', 57410: '/', 57411: '*', 57412: '-', 57413: '+', 57414: keyEnter, 57415: '=', 57416: ',',
	57417: keyLeft, 57418: keyRight, 57419: keyUp, 57420: keyDown, 57421: keyPageUp, 57422: keyPageDown,
	57423: keyHome, 57424: keyEnd, 57425: keyInsert, 57426: keyDelete, 57427: keyBegin,
}

// Chord names the key of a Key event, as bindings are written: "ctrl+g", "esc",
// "enter", "tab", "shift+tab", "up", "pgup", "alt+x", "f5", "space", "a", "A", "?".
// Modifiers stand in the order ctrl, alt, shift, super. It is empty for bytes that
// are no known key.
func Chord(raw []byte) string {
	k, ok := decodeKey(raw)
	if !ok {
		return ""
	}
	return k.name()
}

func (k key) name() string {
	m := k.mods
	base, named := keyNames[k.code]
	switch {
	case named:
	case k.code >= keyF1:
		base = "f" + strconv.Itoa(int(k.code-keyF1)+1)
	case k.code < 0x20 || k.code > unicode.MaxRune || !unicode.IsPrint(k.code):
		return ""
	case m&shift != 0 && m&(control|alt|super) == 0 && k.shifted != 0:
		base, m = string(k.shifted), 0
	case m&shift != 0 && m&(control|alt|super) == 0 && unicode.IsLetter(k.code):
		base, m = string(unicode.ToUpper(k.code)), 0
	default:
		base = string(k.code)
	}
	var b strings.Builder
	for _, p := range [...]struct {
		bit  mods
		name string
	}{{control, "ctrl+"}, {alt, "alt+"}, {shift, "shift+"}, {super, "super+"}} {
		if m&p.bit != 0 {
			b.WriteString(p.name)
		}
	}
	return b.String() + base
}

// decodeKey reads the bytes of one key press, in the legacy and CSI u forms.
func decodeKey(raw []byte) (key, bool) {
	if len(raw) == 0 {
		return key{}, false
	}
	if raw[0] != 0x1b {
		return plainKey(raw)
	}
	switch {
	case len(raw) == 1:
		return key{code: keyEscape}, true
	case len(raw) > 2 && raw[1] == '[':
		return controlKey(raw[2:len(raw)-1], raw[len(raw)-1])
	case len(raw) > 2 && raw[1] == 'O':
		return ss3Key(raw[2:len(raw)-1], raw[len(raw)-1])
	}
	k, ok := plainKey(raw[1:])
	k.mods |= alt
	return k, ok
}

func plainKey(raw []byte) (key, bool) {
	r, n := utf8.DecodeRune(raw)
	if n != len(raw) || r == utf8.RuneError && n == 1 {
		return key{}, false
	}
	switch {
	case r == keyTab, r == keyEnter, r == keyEscape, r == keyBackspace, r >= 0x20:
		return key{code: r}, true
	case r == 0:
		return key{code: ' ', mods: control}, true
	case r < 0x1b:
		return key{code: r + 'a' - 1, mods: control}, true
	}
	return key{code: r + '@', mods: control}, true // \ ] ^ _
}

func ss3Key(body []byte, final byte) (key, bool) {
	code, ok := letterKeys[final]
	k := key{code: code}
	if p := params(body); len(body) > 0 && p[len(p)-1] > 0 {
		k.mods = mods(p[len(p)-1]-1) & 15
	}
	return k, ok
}

func controlKey(body []byte, final byte) (key, bool) {
	if len(body) > 0 && body[0] == '[' && len(body) == 1 { // Linux console F1 to F5
		return key{code: keyF1 + rune(final-'A')}, final >= 'A' && final <= 'E'
	}
	fields := strings.Split(string(body), ";")
	num := func(i, j, def int) int {
		if i >= len(fields) {
			return def
		}
		sub := strings.Split(fields[i], ":")
		if j >= len(sub) || sub[j] == "" {
			return def
		}
		n, err := strconv.Atoi(sub[j])
		if err != nil || n < 0 || n > unicode.MaxRune {
			return -1
		}
		return n
	}
	k := key{mods: mods(max(0, num(1, 0, 1)-1)) & 15, release: num(1, 1, 1) == 3}
	switch final {
	case 'Z':
		k.code, k.mods = keyTab, k.mods|shift
		return k, true
	case '~':
		if num(0, 0, 0) == 27 && len(fields) == 3 { // modifyOtherKeys
			k.code = rune(num(2, 0, -1))
			return k, k.code >= 0
		}
		code, ok := tildeKeys[num(0, 0, 0)]
		k.code = code
		return k, ok
	case 'u':
		return kittyKey(k, num(0, 0, -1), num(0, 1, 0))
	}
	code, ok := letterKeys[final]
	k.code = code
	return k, ok && final != 'M'
}

func kittyKey(k key, code, shifted int) (key, bool) {
	if code < 0 {
		return key{}, false
	}
	k.code, k.shifted, k.kitty = rune(code), rune(max(0, shifted)), true
	switch {
	case code >= 57399 && code <= 57408:
		k.code = '0' + rune(code-57399)
	case code >= 57376 && code <= 57383: // F13 to F20
		k.code = keyF1 + 12 + rune(code-57376)
	default:
		if twin, ok := kittyKeys[rune(code)]; ok {
			k.code = twin
		}
	}
	return k, true
}
