package client

import (
	"errors"
	"fmt"
	"strings"
)

var errQuote = errors.New("a quote is not closed")

// splitWords splits s into words as a POSIX shell does (XCU §2.2, §2.3) but
// expands nothing: what would need a shell outside quotes is an error, so that a
// command never runs with another meaning than it was written with.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case ' ', '\t', '\n':
			if begun {
				words, begun = append(words, word.String()), false
				word.Reset()
			}
			continue
		case '\\':
			if i++; i == len(s) {
				return nil, errors.New("it ends in a backslash")
			}
			if s[i] != '\n' { // a backslash before a line end joins the lines
				word.WriteByte(s[i])
				begun = true
			}
			continue
		case '\'', '"':
			n, err := quoted(&word, s[i+1:], c)
			if err != nil {
				return nil, err
			}
			i += n
		default:
			if strings.IndexByte("|&;<>()$`*?[", c) >= 0 || !begun && (c == '#' || c == '~') {
				return nil, fmt.Errorf("%q means something to a shell only; quote it, or ask for: sh -c …", string(c))
			}
			word.WriteByte(c)
		}
		begun = true
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errNoCommand
	}
	return words, nil
}

// quoted reads s up to the closing quote and returns how many bytes that took.
func quoted(word *strings.Builder, s string, quote byte) (int, error) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote:
			return i + 1, nil
		case quote == '\'':
			word.WriteByte(c)
		case c == '$' || c == '`':
			return 0, fmt.Errorf("%q is expanded by a shell only; use single quotes, or ask for: sh -c …", string(c))
		case c == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0:
			if i++; s[i] != '\n' {
				word.WriteByte(s[i])
			}
		default:
			word.WriteByte(c)
		}
	}
	return 0, errQuote
}
