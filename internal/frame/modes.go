package frame

import (
	"strconv"
	"strings"
)

// enterSequence turns on the alternate screen and the features. Autowrap is off: we
// place every cell, and a terminal that counts a glyph wider than we do must not
// push the last column into the next row.
func enterSequence(f Features) string {
	var b strings.Builder
	b.WriteString("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J")
	for _, m := range featureModes(f) {
		b.WriteString("\x1b[?" + strconv.Itoa(m) + "h")
	}
	if f.KittyFlags != 0 {
		b.WriteString("\x1b[>" + strconv.Itoa(f.KittyFlags) + "u")
	}
	return b.String()
}

// leaveSequence undoes enterSequence, in the opposite order.
func leaveSequence(f Features) string {
	var b strings.Builder
	b.WriteString("\x1b[?2026l")
	if f.KittyFlags != 0 {
		b.WriteString("\x1b[<1u")
	}
	modes := featureModes(f)
	for i := len(modes) - 1; i >= 0; i-- {
		b.WriteString("\x1b[?" + strconv.Itoa(modes[i]) + "l")
	}
	b.WriteString("\x1b[0m\x1b[0 q\x1b[?7h\x1b[?1049l\x1b[?25h")
	return b.String()
}

func featureModes(f Features) []int {
	var modes []int
	if f.Mouse || f.Motion {
		modes = append(modes, 1000, 1002)
	}
	if f.Motion {
		modes = append(modes, 1003)
	}
	if f.Mouse || f.Motion {
		modes = append(modes, 1006)
	}
	if f.Paste {
		modes = append(modes, 2004)
	}
	if f.Focus {
		modes = append(modes, 1004)
	}
	if f.ClusterMode {
		modes = append(modes, 2027)
	}
	return modes
}

// Repair returns the bytes that clean a terminal whose last user was killed before
// it could: every mode Enter can set is turned off. The kitty flags are set to 0
// rather than popped, since how many were pushed is not known. Cluster widths stay:
// in some terminals they are on by default. A clean terminal keeps its cursor.
func Repair() string {
	all := leaveSequence(Features{Mouse: true, Motion: true, Paste: true, Focus: true})
	// 1049l on a terminal already on its main screen would restore a stale
	// cursor; 47l only switches.
	return "\x1b[=0;1u" + strings.Replace(all, "\x1b[?1049l", "\x1b[?47l", 1)
}
