package route

import (
	"fmt"
	"path"
	"strings"
)

// globs are patterns of one name. Names are compared without regard to the case of
// ASCII letters: the host's file system may do the same.
type globs struct {
	exact    map[string]bool
	suffixes []string // of "*suffix"
	prefixes []string // of "prefix*"
	others   []string
}

func globsOf(patterns []string) (globs, error) {
	g := globs{exact: map[string]bool{}}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return g, fmt.Errorf("pattern %q: %w", p, err)
		}
		p = strings.ToLower(p)
		rest, star := strings.CutPrefix(p, "*")
		start, open := strings.CutSuffix(p, "*")
		switch {
		case !strings.ContainsAny(p, `*?[\`):
			g.exact[p] = true
		case star && !strings.ContainsAny(rest, `*?[\`):
			g.suffixes = append(g.suffixes, rest)
		case open && !strings.ContainsAny(start, `*?[\`):
			g.prefixes = append(g.prefixes, start)
		default:
			g.others = append(g.others, p)
		}
	}
	return g, nil
}

// match takes a name that fold has been through.
func (g *globs) match(folded string) bool {
	if g.exact[folded] {
		return true
	}
	for _, s := range g.suffixes {
		if strings.HasSuffix(folded, s) {
			return true
		}
	}
	for _, p := range g.prefixes {
		if strings.HasPrefix(folded, p) {
			return true
		}
	}
	for _, p := range g.others {
		if ok, _ := path.Match(p, folded); ok {
			return true
		}
	}
	return false
}

// fold returns name with small ASCII letters; it allocates only when there are others.
func fold(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= 'A' && c <= 'Z' || c >= 0x80 {
			return strings.ToLower(name)
		}
	}
	return name
}

// join is path.Join for parts that are clean already.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// split returns what join was given.
func split(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	return p[:max(i, 0)], p[i+1:]
}
