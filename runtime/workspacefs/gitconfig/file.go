package gitconfig

import (
	"errors"
	"iter"
	"slices"
	"strings"
)

// MaxFile is the size in bytes up to which a file is read.
const MaxFile = 1 << 20

// The errors of Parse.
var (
	ErrSyntax   = errors.New("not a git configuration")
	ErrTooLarge = errors.New("git configuration too large")
)

// A Var is one setting of a variable.
type Var struct {
	Section    string // in lower case
	Subsection string // case matters, unless it was written [section.subsection]
	Named      bool   // there is a subsection: [a ""] is another section than [a]
	Key        string // in lower case
	Value      string // any bytes but NUL; "true" if Bare
	Bare       bool   // written without "=", which is true for git where it wants a boolean
}

// A File is the content of one configuration file. The zero File is empty.
type File struct {
	vars []Var
}

// All goes through the settings in the order of the file. Of several settings of a
// variable that takes one value, git uses the last.
func (f File) All() iter.Seq[Var] { return slices.Values(f.vars) }

// Values returns what the variable was set to, in the order of the file. Case
// matters in subsection only; "" means none.
func (f File) Values(section, subsection, key string) []string {
	section, key = strings.ToLower(section), strings.ToLower(key)
	var values []string
	for _, v := range f.vars {
		if v.Section == section && v.Key == key && v.Subsection == subsection && v.Named == (subsection != "") {
			values = append(values, v.Value)
		}
	}
	return values
}

// An Include is another file that git would read in place of the setting.
type Include struct {
	Condition string // as in includeIf.<condition>.path; "" is always
	Path      string // as written: relative to this file, or with "~/" or "~user/" or "%(prefix)/"
}

// Includes returns the other files git would or might read.
func (f File) Includes() []Include {
	var all []Include
	for _, v := range f.vars {
		if v.Key == "path" && (v.Section == "include" && !v.Named || v.Section == "includeif" && v.Named) {
			all = append(all, Include{Condition: v.Subsection, Path: v.Value})
		}
	}
	return all
}
