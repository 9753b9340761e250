package config

import "fmt"

// Expand is expandPath for the fuzz tests.
func Expand(s, home string, t map[string]string) (string, error) { return expandPath(s, home, t) }

// Words is the expansion of free text.
func Words(s string, t map[string]string) string { return tokens(t).words(s) }

// SplitWords is splitWords.
var SplitWords = splitWords

// TokenNames lists the tokens.
var TokenNames = tokenNames

// Distance is distance.
var Distance = distance

// CheckedValues parses and checks data and returns its values by name, and the
// problems.
func CheckedValues(data []byte) (map[string]string, map[string]any, Problems) {
	s, err := parseSource(LayerUser, "fuzz.toml", data)
	if err != nil {
		return nil, nil, asProblems(err)
	}
	leaves, problems := s.check()
	out := map[string]string{}
	for _, l := range leaves {
		out[l.name()] = fmt.Sprintf("%#v", l.value)
		if l.line < 1 {
			problems = append(problems, Problem{Message: "no line for " + l.name()})
		}
	}
	return out, s.values, problems
}

// MergedSettings runs data through the merge and reports whether it decoded.
func MergedSettings(data []byte) error {
	s, err := parseSource(LayerUser, "fuzz.toml", data)
	if err != nil {
		return nil
	}
	leaves, problems := s.check()
	if len(problems) > 0 {
		return nil
	}
	m := newMerged()
	m.add(s, leaves)
	_, err = m.settings()
	return err
}
