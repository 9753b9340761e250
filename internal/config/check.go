package config

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// leaf is one value a file gives, in the Go type of its kind.
type leaf struct {
	path  []string
	key   *key
	value any
	line  int
}

// name returns the dotted name of the leaf, safe to print.
func (l leaf) name() string { return dotted(l.path) }

func dotted(path []string) string {
	var b strings.Builder
	for i, p := range path {
		switch n, ok := strings.CutPrefix(p, "#"); {
		case ok:
			b.WriteString("[" + printable(n) + "]")
		case i > 0:
			b.WriteString("." + printable(p))
		default:
			b.WriteString(printable(p))
		}
	}
	return b.String()
}

// volumeEntry and ruleEntry are the two kinds of table inside an array.
type volumeEntry struct{ Host, Container, Mode string }

type ruleEntry struct {
	Argv      []string
	ExtraArgs bool
}

// checker holds one source against the schema and collects what it finds.
type checker struct {
	source   *source
	leaves   []leaf
	problems Problems
}

// check returns every value of s, in order of their names, or what is wrong.
func (s *source) check() ([]leaf, Problems) {
	c := &checker{source: s}
	c.table(nil, s.values, schema)
	sort.SliceStable(c.problems, func(i, j int) bool { return c.problems[i].Line < c.problems[j].Line })
	return c.leaves, c.problems
}

func (c *checker) problem(path []string, message, hint string) {
	shown := path
	for n := len(shown); n > 0 && strings.HasPrefix(shown[n-1], "#"); n-- {
		shown = shown[:n-1]
	}
	c.problems = append(c.problems, Problem{
		File: c.source.path, Line: c.source.line(path...), Key: dotted(shown), Message: message, Hint: hint,
	})
}

func (c *checker) table(path []string, values map[string]any, at *branch) {
	for _, name := range sortedKeys(values) {
		here := append(append([]string(nil), path...), name)
		next, chosen := at.child(name)
		if next == nil {
			c.problem(here, "unknown key", didYouMean(name, at.known()))
			continue
		}
		if chosen {
			if err := names[at.path](name); err != nil {
				c.problem(here, err.Error(), hintOf(err))
				continue
			}
		}
		c.value(here, values[name], next)
	}
}

func (c *checker) value(path []string, v any, at *branch) {
	if at.leaf == nil {
		table, ok := v.(map[string]any)
		if !ok {
			c.problem(path, "must be a table, is "+typeName(v), "")
			return
		}
		c.table(path, table, at)
		return
	}
	value, ok := c.leaf(path, v, at.leaf)
	if ok {
		c.leaves = append(c.leaves, leaf{path: path, key: at.leaf, value: value, line: c.source.line(path...)})
	}
}

// leaf returns v in the type of k's kind.
func (c *checker) leaf(path []string, v any, k *key) (any, bool) {
	before := len(c.problems)
	var out any
	switch k.kind {
	case kindString:
		out = c.text(path, v, k.check)
	case kindBool:
		out = need[bool](c, path, v, "true or false")
	case kindInt:
		n := need[int64](c, path, v, "a whole number")
		c.judge(path, k.number(n))
		out = n
	case kindSize:
		out = c.size(path, v)
	case kindStrings:
		out = c.texts(path, v, k.check)
	case kindVolumes:
		out = c.volumes(path, v)
	case kindRules:
		out = c.rules(path, v)
	}
	return out, len(c.problems) == before
}

// need returns v as T; anything else is a problem, never a conversion.
func need[T any](c *checker, path []string, v any, want string) T {
	t, ok := v.(T)
	if !ok {
		c.problem(path, "must be "+want+", is "+typeName(v), "")
	}
	return t
}

func (c *checker) judge(path []string, err error) {
	if err != nil {
		c.problem(path, err.Error(), hintOf(err))
	}
}

func (c *checker) text(path []string, v any, check func(string) error) string {
	s, ok := v.(string)
	switch {
	case !ok:
		c.problem(path, "must be a string, is "+typeName(v), quoteHint(v))
	case check != nil:
		c.judge(path, check(s))
	}
	return s
}

func (c *checker) texts(path []string, v any, check func(string) error) []string {
	out := []string{}
	for i, e := range need[[]any](c, path, v, "an array of strings") {
		out = append(out, c.text(append(path, element(i)), e, check))
	}
	return out
}

func (c *checker) size(path []string, v any) int64 {
	switch v := v.(type) {
	case int64:
		c.judge(path, between(0, math.MaxInt64)(v))
		return v
	case string:
		n, err := parseSize(v)
		c.judge(path, err)
		return n
	}
	c.problem(path, "must be a number of bytes or a string such as \"512MiB\", is "+typeName(v), "")
	return 0
}

func (c *checker) volumes(path []string, v any) []volumeEntry {
	out := []volumeEntry{}
	for i, e := range need[[]any](c, path, v, "an array of tables {host, container, mode}") {
		at := append(append([]string(nil), path...), element(i))
		t := need[map[string]any](c, at, e, "a table {host, container, mode}")
		if t == nil {
			continue
		}
		c.only(at, t, "container", "host", "mode")
		v := volumeEntry{Mode: "rw"}
		v.Host = c.required(at, t, "host", hostPathTokens)
		v.Container = c.required(at, t, "container", guestPathTokens)
		if m, ok := t["mode"]; ok {
			v.Mode = c.text(append(at, "mode"), m, volumeMode)
		}
		out = append(out, v)
	}
	return out
}

func (c *checker) required(at []string, t map[string]any, name string, check func(string) error) string {
	v, ok := t[name]
	if !ok {
		c.problem(at, fmt.Sprintf("%s is missing", name), "")
		return ""
	}
	return c.text(append(at, name), v, check)
}

func (c *checker) rules(path []string, v any) []ruleEntry {
	out := []ruleEntry{}
	for i, e := range need[[]any](c, path, v, "an array of command strings or tables {argv, extra_args}") {
		at := append(append([]string(nil), path...), element(i))
		switch e := e.(type) {
		case string:
			argv, err := splitWords(e)
			if err == nil {
				err = ruleShape(argv)
			}
			c.judge(at, err)
			out = append(out, ruleEntry{Argv: argv})
		case map[string]any:
			out = append(out, c.ruleTable(at, e))
		default:
			c.problem(at, "must be a command string or a table {argv, extra_args}, is "+typeName(e), "")
		}
	}
	return out
}

func (c *checker) ruleTable(at []string, t map[string]any) ruleEntry {
	c.only(at, t, "argv", "extra_args")
	var r ruleEntry
	before := len(c.problems)
	r.Argv = c.texts(append(at, "argv"), t["argv"], noNUL)
	if x, ok := t["extra_args"]; ok {
		r.ExtraArgs = need[bool](c, append(at, "extra_args"), x, "true or false")
	}
	if len(c.problems) == before {
		c.judge(at, ruleShape(r.Argv))
	}
	return r
}

func (c *checker) only(at []string, t map[string]any, known ...string) {
	for _, name := range sortedKeys(t) {
		if !slices.Contains(known, name) {
			c.problem(append(at, name), "unknown key", didYouMean(name, known))
		}
	}
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// typeName says what a TOML value is, in TOML's words.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "missing"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	case time.Time:
		return "a date"
	}
	return "a date or time"
}

func quoteHint(v any) string {
	switch v := v.(type) {
	case int64, float64, bool:
		return fmt.Sprintf("write it in quotes: \"%v\"", v)
	}
	return ""
}
