package gitrules

import "strings"

// Git is the name of a git directory or of the pointer to one.
const Git = ".git"

// Alias reports whether name is another spelling of ".git": one that is the same
// file on some file system, and that git therefore refuses to track (its
// core.protectNTFS and core.protectHFS): other case, trailing dots and spaces, the
// short name "git~1", a stream ("" after ":"), a backslash, invisible letters.
func Alias(name string) bool {
	if len(name) < len(Git) || name == Git {
		return false
	}
	switch c := name[0]; {
	case c == '.', c == 'g', c == 'G', c >= 0x80:
	default:
		return false
	}
	return alias(name)
}

func alias(name string) bool {
	name = strings.Map(dropInvisible, name)
	if end := strings.IndexAny(name, `:\`); end >= 0 {
		name = name[:end]
	}
	name = strings.TrimRight(name, " .")
	return strings.EqualFold(name, Git) || strings.EqualFold(name, "git~1")
}

// dropInvisible drops what HFS+ does not compare.
func dropInvisible(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}
