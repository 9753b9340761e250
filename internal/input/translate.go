package input

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/term"
)

// Encode returns the bytes a pane is to receive for ev, nil when the pane has not
// asked for such an event. The pane's top left cell is at x, y of the outer
// terminal. Bytes are changed only where the pane's modes need another form.
func Encode(ev Event, pane term.Modes, x, y int) []byte {
	switch ev.Kind {
	case Key:
		return Translate(ev.Raw, pane)
	case Paste:
		return EncodePaste(ev.Text, pane)
	case Mouse:
		return EncodeMouse(ev.Mouse, pane, x, y)
	case FocusIn, FocusOut:
		if pane.FocusEvents {
			return ev.Raw
		}
	}
	return nil
}

// Translate returns the bytes of a key press as the pane's program expects them:
// cursor keys in its cursor-key mode, and CSI u exactly when it asked for it. All
// other keys pass through unchanged.
func Translate(raw []byte, pane term.Modes) []byte {
	if len(raw) > 0 && raw[0] >= 0x20 && raw[0] != 0x7f {
		return raw // text: by far the most frequent
	}
	k, ok := decodeKey(raw)
	switch {
	case !ok:
		return raw
	case k.kitty:
		if pane.KittyFlags != 0 {
			return raw
		}
		return legacy(k, raw, pane)
	case k.mods == 0 && cursorKey(k.code):
		return cursorForm(raw, pane.AppCursor)
	case pane.KittyFlags&1 != 0:
		return disambiguated(k, raw)
	}
	return raw
}

func cursorKey(code rune) bool { return code >= keyUp && code <= keyEnd }

// cursorForm rewrites an unmodified cursor key between CSI A and SS3 A.
func cursorForm(raw []byte, app bool) []byte {
	final := raw[len(raw)-1]
	if len(raw) != 3 {
		return raw // CSI 1 ~ and the like have one form only
	}
	if app {
		return []byte{0x1b, 'O', final}
	}
	return []byte{0x1b, '[', final}
}

// disambiguated gives keys that legacy encoding cannot tell from others the CSI u
// form of kitty flag 1. Enter, Tab and Backspace keep theirs, as the protocol says.
func disambiguated(k key, raw []byte) []byte {
	switch {
	case k.code == keyEscape:
	case k.code > unicode.MaxRune:
		return raw
	case k.mods&(alt|control) == 0:
		return raw
	case raw[0] == '\b' || raw[0] == '\n':
		// As likely Backspace, or a Shift+Enter set up by hand, as Ctrl+H and Ctrl+J.
		return raw
	}
	return csiU(k)
}

func csiU(k key) []byte {
	code, m := k.code, k.mods
	if unicode.IsUpper(code) {
		code, m = unicode.ToLower(code), m|shift
	}
	b := append([]byte("\x1b["), strconv.Itoa(int(code))...)
	if m != 0 {
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(m)+1, 10)
	}
	return append(b, 'u')
}

// legacy gives a CSI u key the form programs know that did not ask for CSI u.
func legacy(k key, raw []byte, pane term.Modes) []byte {
	if k.code > unicode.MaxRune {
		return legacyNamed(k, pane)
	}
	if pane.ModifyOtherKeys > 0 && otherKey(k, pane.ModifyOtherKeys) {
		b := append([]byte("\x1b[27;"), strconv.Itoa(int(k.mods)+1)...)
		b = append(append(b, ';'), strconv.Itoa(int(k.code))...)
		return append(b, '~')
	}
	r := k.code
	switch {
	case r == keyTab && k.mods&shift != 0:
		return []byte("\x1b[Z")
	case k.mods&control != 0:
		r = controlRune(r)
	case k.mods&shift != 0 && k.shifted != 0:
		r = k.shifted
	case k.mods&shift != 0:
		r = unicode.ToUpper(r)
	}
	if r >= 57344 && r <= 63743 {
		return nil // a key that has no legacy form
	}
	var b []byte
	if k.mods&alt != 0 {
		b = append(b, 0x1b)
	}
	return utf8.AppendRune(b, r)
}

// otherKey reports whether xterm's modifyOtherKeys, at the given level, reports the
// key in its own form: at level 1 only where no well-known byte exists.
func otherKey(k key, level int) bool {
	special := k.code == keyEnter || k.code == keyTab || k.code == keyBackspace || k.code == keyEscape
	switch {
	case k.mods == 0, k.mods == shift && !special, k.code == keyTab && k.mods == shift:
		return false
	case level >= 2 || special:
		return true
	}
	return k.mods&control != 0 && controlRune(k.code) == k.code
}

func legacyNamed(k key, pane term.Modes) []byte {
	var final byte
	for b, code := range letterKeys {
		if code == k.code && b != 'M' {
			final = b
		}
	}
	mod := strconv.Itoa(int(k.mods) + 1)
	switch {
	case final != 0 && k.mods != 0:
		return []byte("\x1b[1;" + mod + string(final))
	case final != 0 && (pane.AppCursor && cursorKey(k.code) || k.code >= keyF1):
		return []byte{0x1b, 'O', final}
	case final != 0:
		return []byte{0x1b, '[', final}
	}
	for n := range 35 {
		if tildeKeys[n] == k.code && k.code != 0 {
			if k.mods == 0 {
				return []byte("\x1b[" + strconv.Itoa(n) + "~")
			}
			return []byte("\x1b[" + strconv.Itoa(n) + ";" + mod + "~")
		}
	}
	return nil
}

// controlRune is what Control makes of a character on a plain terminal; characters
// it does nothing to stay.
func controlRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 1
	case r >= '@' && r <= '_':
		return r - '@'
	case r == ' ', r == '2':
		return 0
	case r >= '3' && r <= '7':
		return r - '3' + 0x1b
	case r == '/':
		return 0x1f
	case r == '8', r == '?':
		return 0x7f
	case r == keyBackspace:
		return 8
	}
	return r
}

// EncodePaste returns a paste for the pane: between markers when it has bracketed
// paste on, else as it is.
func EncodePaste(text []byte, pane term.Modes) []byte {
	if !pane.BracketedPaste {
		return text
	}
	b := make([]byte, 0, len(text)+12)
	b = append(b, "\x1b[200~"...)
	b = append(b, text...)
	return append(b, pasteEnd...)
}
