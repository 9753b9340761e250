package state

import (
	"regexp"
	"sync"
)

// expression compiles a regular expression when it is first used: every mode of the
// program has this package, and few use it.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
