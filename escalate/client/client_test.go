package client_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/escalate/client"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"git push origin HEAD":      {"git", "push", "origin", "HEAD"},
		"  a\t b\n":                 {"a", "b"},
		`a 'b c' "d e" f\ g`:        {"a", "b c", "d e", "f g"},
		`a'b'"c"d`:                  {"abcd"},
		`'' ""`:                     {"", ""},
		`"a\"b\\c\d"`:               {`a"b\c\d`},
		`'$x' a\$b a#b a~b '|;&<>'`: {"$x", "a$b", "a#b", "a~b", "|;&<>"},
		"a\\\nb":                    {"ab"},
	} {
		got, err := client.SplitWords(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "  ", "a 'b", `a "b`, `a\`, "a | b", "a;b", "a & b", "a > f", "$HOME", "`a`", `"$a"`,
		"*.go", "a ?", "a [b]", "# a", "~/x", "(a)"} {
		if got, err := client.SplitWords(bad); err == nil {
			t.Errorf("%q was split into %q", bad, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\"e" f\ g`)
	f.Fuzz(func(t *testing.T, s string) {
		words, err := client.SplitWords(s)
		if err != nil {
			return
		}
		again, err := client.SplitWords(client.QuoteWords(words))
		if err != nil || !slices.Equal(words, again) {
			t.Fatalf("%q is %q, quoted and split again %q, %v", s, words, again, err)
		}
	})
}

// run uses the client without any mailbox.
func run(t *testing.T, c client.Client, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Base, c.Stdout, c.Stderr, c.Stdin = t.TempDir(), &out, &errs, strings.NewReader(`{"hook":"input"}`)
	code = c.Run(context.Background(), args)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--"}, {"--why"}, {"--why", "x"}, {"--timeout", "soon", "ls"}, {"--timeout=-1s", "ls"},
		{"--nonsense", "ls"}, {"-c"}, {"-c", "a | b"}, {"-c", "a", "b"}, {""}} {
		if code, _, stderr := run(t, client.Client{}, args...); code != client.ExitUsage || !strings.Contains(stderr, "--help") {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
	code, stdout, _ := run(t, client.Client{}, "--help")
	if code != 0 || !strings.Contains(stdout, "Examples:") || !strings.Contains(stdout, "Exit codes:") {
		t.Errorf("--help: exit %d, %q", code, stdout)
	}
	if code, stdout, stderr := run(t, client.Client{}, "status", "working"); code != 0 || stdout+stderr != "" {
		t.Errorf("status: exit %d, %q, %q", code, stdout, stderr)
	}
}

func TestSaysAtOnceThatEscalationIsOff(t *testing.T) {
	t.Parallel()
	code, _, stderr := run(t, client.Client{}, "--", "true")
	if code != client.ExitNotRun || !strings.Contains(stderr, "escalation is off for this profile") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
