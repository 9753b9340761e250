package config

import "strings"

// splitWords splits a command string as a POSIX shell splits words: blanks
// separate, quotes and backslashes keep together. It expands nothing; characters
// that a shell would act on stay in the words, where ruleShape refuses them.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'', '"':
			n, err := quoted(s[i:], &word)
			if err != nil {
				return nil, err
			}
			i += n
			inWord = true
		case '\\':
			if i+1 == len(s) {
				return nil, bad("", "%q ends in a backslash", s)
			}
			i++
			word.WriteByte(s[i])
			inWord = true
		case ' ', '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted copies the quoted text s starts with to word and returns the offset of
// the closing quote.
func quoted(s string, word *strings.Builder) (int, error) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i, nil
		case quote == '"' && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0:
			i++
		}
		word.WriteByte(s[i])
	}
	return 0, bad("", "%q has an unclosed quote", s)
}
