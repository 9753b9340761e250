package attach

import (
	"strings"

	"lazaret.dev/lazaret/internal/term"
)

// quoteArgv shows an argument vector so that where one argument ends and the next
// begins cannot be mistaken.
func quoteArgv(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = quote(a)
	}
	return strings.Join(out, " ")
}

// quote is one argument in the quotes of a POSIX shell where it needs any, with
// everything a terminal would act on made visible.
func quote(arg string) string {
	if arg != "" && !strings.ContainsFunc(arg, needsQuotes) {
		return arg
	}
	return "'" + strings.ReplaceAll(term.Sanitize(arg), "'", `'\''`) + "'"
}

func needsQuotes(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("@%+=:,./_-", r)
}
