package gitconfig_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

const sample = "\xef\xbb\xbf; a comment\r\n" + `[core]
	hooksPath = ~/hooks # not this
	ExcludesFile = "/a; b  " ; nor this
	worktree = ../x\
y
[core ""]
	hooksPath = other
[core "Sub"]
	hooksPath = deeper
[Extensions] worktreeConfig
	objectFormat = sha256
	objectFormat = sha1
[include]
	path = one
[includeIf "gitdir:~/w/"]
	path = "t\\w\"o"
[include "x"]
	path = none
[includeIf]
	path = none
[remote.Origin]
	url = a	b
`

func parse(t *testing.T, text string) gitconfig.File {
	t.Helper()
	file, err := gitconfig.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestValues(t *testing.T) {
	t.Parallel()
	file := parse(t, sample)
	for _, row := range []struct {
		section, subsection, key string
		want                     []string
	}{
		{"core", "", "hookspath", []string{"~/hooks"}},
		{"CORE", "", "hooksPath", []string{"~/hooks"}},
		{"core", "", "excludesfile", []string{"/a; b  "}},
		{"core", "", "worktree", []string{"../xy"}},
		{"core", "Sub", "hooksPath", []string{"deeper"}},
		{"core", "sub", "hooksPath", nil},
		{"extensions", "", "worktreeConfig", []string{"true"}},
		{"extensions", "", "objectFormat", []string{"sha256", "sha1"}},
		{"remote", "origin", "url", []string{"a\tb"}},
		{"remote", "", "url", nil},
	} {
		if got := file.Values(row.section, row.subsection, row.key); !slices.Equal(got, row.want) {
			t.Errorf("%s %q %s: got %q, want %q", row.section, row.subsection, row.key, got, row.want)
		}
	}
	want := []gitconfig.Include{{Path: "one"}, {Condition: "gitdir:~/w/", Path: `t\w"o`}}
	if got := file.Includes(); !slices.Equal(got, want) {
		t.Errorf("includes: got %q, want %q", got, want)
	}
}

// TestRefused has beside each refused file a twin without the defect.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ bad, good, line string }{
		{"[a]\nb = \x00", "[a]\nb = ", "line 2"},
		{"# \x00", "# ", "line 1"},
		{"[a", "[a]", "line 1"},
		{"[]", "[a]", "line 1"},
		{"[a_b]", "[a-b]", "line 1"},
		{"[a b]", "[a \"b\"]", "line 1"},
		{"[a \"b]\n", "[a \"b\"]\n", "line 1"},
		{"[a \"b\" ]", "[a \"b\"]", "line 1"},
		{"[a \"b\nc\"]", "[a \"b c\"]", "line 1"},
		{"[a]\n1 = b", "[a]\nx1 = b", "line 2"},
		{"[a]\nb c", "[a]\nb = c", "line 2"},
		{"[a]\nb # c", "[a]\nb = # c", "line 2"},
		{"[a]\nb = \"c\n", "[a]\nb = \"c\"\n", "line 2"},
		{"[a]\nb = \\c", "[a]\nb = \\\\c", "line 2"},
		{"\n[a]\n\xff", "\n[a]\n#\xff", "line 3"},
		{"\xef\xbb[a]", "\xef\xbb\xbf[a]", "line 1"},
	} {
		if _, err := gitconfig.Parse([]byte(row.bad)); !errors.Is(err, gitconfig.ErrSyntax) || !strings.HasPrefix(err.Error(), row.line+":") {
			t.Errorf("%q: %v, want an error of %s", row.bad, err, row.line)
		}
		parse(t, row.good)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	full := bytes.Repeat([]byte("#"), gitconfig.MaxFile)
	parse(t, string(full))
	if _, err := gitconfig.Parse(append(full, '#')); !errors.Is(err, gitconfig.ErrTooLarge) {
		t.Errorf("a file over MaxFile: %v", err)
	}
}

// FuzzParse writes what was read in a plain form, and reads it again.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	for _, part := range soup {
		f.Add("[a]\nb = " + part)
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := gitconfig.Parse([]byte(text))
		if err != nil {
			return
		}
		vars := slices.Collect(file.All())
		again := parse(t, marshal(vars))
		if got := slices.Collect(again.All()); !slices.Equal(got, vars) {
			t.Fatalf("read %+v, written and read again %+v", vars, got)
		}
	})
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\b", `\b`, "\t", `\t`)

func marshal(vars []gitconfig.Var) string {
	var out strings.Builder
	for _, v := range vars {
		switch {
		case v.Named:
			name := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v.Subsection)
			out.WriteString("[" + v.Section + " \"" + name + "\"]\n")
		case v.Section != "":
			out.WriteString("[" + v.Section + "]\n")
		}
		out.WriteString(v.Key)
		if !v.Bare {
			out.WriteString(` = "` + escapes.Replace(v.Value) + `"`)
		}
		out.WriteString("\n")
	}
	return out.String()
}
