package ignore

import "strings"

// The globs of gitignore(5), on bytes:
//
//	?       any byte but "/"
//	*       any bytes but "/"
//	[...]   one byte of a class, never "/"
//	\x      x itself
//	**/     nothing, or anything up to and with a "/"     at the beginning or after "/"
//	**\/    anything up to and with a "/"                 likewise
//	**      anything, at the end                          likewise
//
// Any other run of stars is one "*".

// compile reads a glob and returns it with each class made into "[", a set, and "]",
// so that matching a byte takes the same time whatever the class; and tail, the fixed
// bytes it ends in. It is false for globs that can match nothing: a class is open or
// misnamed, or a backslash stands at the end.
func compile(p string) (glob, tail string, ok bool) {
	var out strings.Builder
	fixed := 0 // where the tail begins in out
	for i := 0; i < len(p); {
		switch p[i] {
		case '\\':
			if i+1 == len(p) {
				return "", "", false
			}
			out.WriteString(p[i : i+2])
			i += 2
		case '[':
			var members set
			if members, i, ok = readClass(p, i); !ok {
				return "", "", false
			}
			out.WriteByte('[')
			out.Write(members[:])
			out.WriteByte(']')
		default:
			out.WriteByte(p[i])
			if i++; p[i-1] != '*' && p[i-1] != '?' {
				continue
			}
		}
		fixed = out.Len()
	}
	glob = out.String()
	tail = glob[fixed:]
	if strings.HasSuffix(glob[:fixed], "**") {
		tail = strings.TrimPrefix(tail, "/") // which "**/" may go without
	}
	return glob, tail, true
}

// deepStar reports whether the run of stars p[i:k] crosses "/", and how long the
// slash that follows it is: 0 at the end of the glob.
func deepStar(p string, i, k int) (slash int, deep bool) {
	if k-i < 2 || i > 0 && p[i-1] != '/' {
		return 0, false
	}
	switch rest := p[k:]; {
	case rest == "":
		return 0, true
	case rest[0] == '/':
		return 1, true
	case strings.HasPrefix(rest, `\/`):
		return 2, true
	}
	return 0, false
}

// A matcher walks a glob and a text side by side and remembers where it may try
// again. One place for "*" is enough: what stands between two stars is matched as
// early as possible, so a later place for the earlier star helps nobody, and no
// star reaches past its "/". One place for "**" is enough for the same reason. So
// the work is at most len(p) x len(s).
type matcher struct {
	p, s  string
	i, j  int // read so far
	starI int // behind the last "*" of this component, -1 without one
	starJ int // where its share of s ends
	deepI int // behind the last "**/", -1 without one
	deepJ int // s before here has been given to it
}

// matchGlob reports whether all of s matches the compiled glob p.
func matchGlob(p, s string) bool {
	m := matcher{p: p, s: s, starI: -1, deepI: -1}
	for {
		switch {
		case m.i < len(p) && p[m.i] == '*':
			if m.stars() {
				return true
			}
		case m.i == len(p) && m.j == len(s):
			return true
		case m.i < len(p) && m.j < len(s) && m.step():
		case !m.retry():
			return false
		}
	}
}

// stars enters a run of stars. It returns true when the run matches all that is left.
func (m *matcher) stars() bool {
	k := m.i
	for k < len(m.p) && m.p[k] == '*' {
		k++
	}
	slash, deep := deepStar(m.p, m.i, k)
	if !deep {
		m.i, m.starI, m.starJ = k, k, m.j
		return false
	}
	if slash == 0 {
		return true
	}
	m.i, m.deepI, m.deepJ, m.starI = k+slash, k+slash, m.j, -1
	if slash == 2 {
		m.i = k // quoted, the slash must be there
	}
	return false
}

// step matches one byte of s, and reports whether it could.
func (m *matcher) step() bool {
	c := m.s[m.j]
	switch m.p[m.i] {
	case '?':
		if c == '/' {
			return false
		}
	case '[':
		// A class never has "/" in it.
		if m.p[m.i+1+int(c>>3)]&(1<<(c&7)) == 0 {
			return false
		}
		m.i, m.j = m.i+2+len(set{}), m.j+1
		return true
	case '\\':
		if m.p[m.i+1] != c {
			return false
		}
		m.i++
	default:
		if m.p[m.i] != c {
			return false
		}
	}
	if c == '/' {
		m.starI = -1 // no use beyond here: this saves work, not answers
	}
	m.i, m.j = m.i+1, m.j+1
	return true
}

// retry goes back to the last star and gives it more, and reports whether it could.
func (m *matcher) retry() bool {
	if m.starI >= 0 && m.starJ < len(m.s) && m.s[m.starJ] != '/' {
		m.starJ++
		m.i, m.j = m.starI, m.starJ
		return true
	}
	if m.deepI < 0 {
		return false
	}
	slash := strings.IndexByte(m.s[m.deepJ:], '/')
	if slash < 0 {
		return false
	}
	m.deepJ += slash + 1
	m.i, m.j, m.starI = m.deepI, m.deepJ, -1
	return true
}
