package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// tokens are what {…} may stand for, by name. The values are inserted once and
// never read again for tokens: a workspace may be called "{profile_dir}".
type tokens map[string]string

var tokenNames = []string{"profile_name", "profile_dir", "domain_hash", "domain_dir", "workspace_dir"}

// words replaces the known tokens in free text such as a command or a variable.
// Anything else in braces is the text's own business, JSON for example.
func (t tokens) words(s string) string {
	out, _ := t.replace(s, func(string) error { return nil })
	return out
}

// strict replaces tokens in a path, where an unknown one is a mistake.
func (t tokens) strict(s string) (string, error) {
	return t.replace(s, func(name string) error {
		if isTokenName(name) {
			return bad(didYouMean(name, tokenNames), "{%s} is not a token", name)
		}
		return nil
	})
}

func (t tokens) replace(s string, unknown func(name string) error) (string, error) {
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:open])
		s = s[open:]
		end := strings.IndexByte(s, '}')
		if end < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		value, ok := t[s[1:end]]
		if !ok {
			if err := unknown(s[1:end]); err != nil {
				return "", err
			}
			b.WriteByte('{')
			s = s[1:]
			continue
		}
		b.WriteString(value)
		s = s[end+1:]
	}
}

func isTokenName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// expandPath turns a configured host path into an absolute, clean one: tilde as
// the first character only, tokens once, and no ".." anywhere in the result (S1
// §3.2). It looks at no file.
func expandPath(s, home string, t tokens) (string, error) {
	if rest, ok := strings.CutPrefix(s, "~"); ok && (rest == "" || rest[0] == '/') {
		if home == "" {
			return "", bad("set HOME", "%q needs a home directory, and neither HOME nor the password file names one", s)
		}
		// The home directory is a value, not configuration: it is not searched for
		// tokens.
		expanded, err := t.strict(rest)
		if err != nil {
			return "", err
		}
		return cleanPath(home + expanded)
	}
	expanded, err := t.strict(s)
	if err != nil {
		return "", err
	}
	return cleanPath(expanded)
}

func cleanPath(s string) (string, error) {
	switch {
	case strings.ContainsRune(s, 0):
		return "", bad("", "%q holds a NUL character", s)
	case hasDotDot(s):
		return "", bad("write the path it leads to", `%q contains ".."`, s)
	case !filepath.IsAbs(s):
		return "", bad("write an absolute path, or one that starts with ~/ or {workspace_dir}", "%q is not an absolute path", s)
	}
	return filepath.Clean(s), nil
}

// hasDotDot reports whether a path has a segment that leads upwards.
func hasDotDot(s string) bool { return slices.Contains(strings.Split(s, "/"), "..") }

// under reports whether path is dir or lies below it. Both are clean.
func under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// overlap reports whether one of two clean paths contains the other.
func overlap(a, b string) bool { return under(a, b) || under(b, a) }
