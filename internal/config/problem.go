package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"lazaret.dev/lazaret/internal/fault"
)

// Problem is one thing that is wrong in a configuration, with the place to look.
type Problem struct {
	File    string // empty for a value that came from no file
	Line    int    // 0 when the whole file is meant
	Key     string // dotted name, may be empty
	Message string
	Hint    string
}

// String returns the problem in one line, as compilers print theirs.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(printable(p.File))
		if p.Line > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(p.Line))
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems is everything wrong with one configuration, in the order of its files.
type Problems []Problem

// Error returns all problems, one a line after the first.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n  ")
}

// fault wraps the problems for a person: the remedy is the first one's.
func (ps Problems) fault() error {
	if len(ps) == 0 {
		return nil
	}
	fix := ""
	for _, p := range ps {
		if p.Hint != "" {
			fix = p.Hint
			break
		}
	}
	return &fault.Error{Kind: fault.Config, Message: "configuration refused", Fix: fix, Err: ps}
}

// refuse is the one-problem form for what has no file, such as a mount.
func refuse(fix, format string, args ...any) error {
	return &fault.Error{Kind: fault.Config, Message: fmt.Sprintf(format, args...), Fix: fix}
}

// printable makes text from a file safe to show: a workspace file is written by
// whoever can write the workspace, and its words must not steer a terminal.
func printable(s string) string {
	clean := func(r rune) bool { return r == unicode.ReplacementChar || !strconv.IsPrint(r) }
	if strings.IndexFunc(s, clean) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
