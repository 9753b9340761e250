package ignore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// listSize is about what an entry of a map of Lists takes, in bytes.
const listSize = 128

// MaxFile is the size in bytes up to which an ignore file is read. What people wrote
// stays far below; it bounds how long a hostile file can make one question take
// (BenchmarkHostile). Git's own limit is 100 MiB.
const MaxFile = 512 << 10

// ErrTooLarge says that an ignore file is over MaxFile, or that all of them
// together take more than MaxTotal.
var ErrTooLarge = errors.New("too large")

// A List holds the patterns of one ignore file in their order. It is immutable;
// the zero List matches nothing.
type List struct {
	patterns []pattern
	size     int // bytes of memory
}

// A pattern is a fixed beginning and a compiled glob for the rest.
type pattern struct {
	prefix   string
	glob     string // see compile
	tail     string // the fixed end of glob
	negative bool   // "!": what it matches is included
	dirOnly  bool   // a trailing "/": matches only directories
	rooted   bool   // a "/" elsewhere: matches paths below the file's directory, not names
	suffix   bool   // glob is "*" and tail, and rooted is false
}

// Parse reads the content of one ignore file. Lines that can match nothing are
// dropped: blank lines, comments, unclosed classes, a trailing backslash. The only
// error is ErrTooLarge.
func Parse(data []byte) (List, error) {
	if len(data) > MaxFile {
		return List{}, fmt.Errorf("ignore file of %d bytes: %w", len(data), ErrTooLarge)
	}
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	list := List{size: len(data)}
	if len(data) > 0 {
		list.size += listSize
	}
	for line := range strings.SplitSeq(text, "\n") {
		if p, ok := parseLine(line); ok {
			list.patterns = append(list.patterns, p)
			list.size += int(unsafe.Sizeof(p)) + len(p.glob)
		}
	}
	return list, nil
}

// parseLine reads one line without its line feed. Git keeps lines as C strings, so
// a NUL byte ends one.
func parseLine(line string) (pattern, bool) {
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	line = strings.TrimSuffix(line, "\r")
	line, _, _ = strings.Cut(line, "\x00")
	line = trimSpaces(line)
	var p pattern
	line, p.negative = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.rooted = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return pattern{}, false
	}
	fixed := strings.IndexAny(line, `*?[\`)
	if fixed < 0 {
		fixed = len(line)
	}
	p.prefix = line[:fixed]
	var ok bool
	p.glob, p.tail, ok = compile(line[fixed:])
	p.suffix = !p.rooted && len(p.glob) == 1+len(p.tail) && p.glob[0] == '*'
	return p, ok
}

// trimSpaces drops trailing spaces unless a backslash quotes them. Only the space
// character counts; a tab is part of the pattern.
func trimSpaces(line string) string {
	end := 0 // behind the last byte to keep
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
			if i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

// verdict returns what the last matching pattern says of the path, which is
// relative to the directory of the ignore file; name is its last component.
func (l List) verdict(path, name string, isDir bool) Verdict {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		p := &l.patterns[i]
		if p.dirOnly && !isDir {
			continue
		}
		text := name
		if p.rooted {
			text = path
		}
		if p.match(text) {
			if p.negative {
				return Included
			}
			return Ignored
		}
	}
	return None
}

func (p *pattern) match(text string) bool {
	switch {
	case p.glob == "":
		return text == p.prefix
	case len(text) < len(p.prefix)+len(p.tail) || !strings.HasSuffix(text, p.tail) || !strings.HasPrefix(text, p.prefix):
		return false
	case p.suffix:
		return true
	}
	// Git strips the fixed beginning too before it looks at "**", so that "a**/b"
	// has its "**" at the beginning of a glob, and matches "ab" and "ax/b".
	return matchGlob(p.glob, text[len(p.prefix):])
}
