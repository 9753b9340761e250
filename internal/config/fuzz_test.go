package config_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"lazaret.dev/lazaret/internal/config"
)

var fuzzTokens = map[string]string{
	"profile_name": "work", "profile_dir": "/data/work", "domain_hash": "0123456789ab",
	"domain_dir": "/data/domains/0123456789ab", "workspace_dir": "/ws/{profile_dir}/~",
}

// Whatever is written, a path that is accepted is absolute, clean, and leads
// nowhere upwards, and a token's value is not read again.
func FuzzExpandPath(f *testing.F) {
	for _, s := range []string{
		"~", "~/x", "~root", "/a/~", "{profile_dir}/x", "{workspace_dir}", "{workspace_dir}/../x", "/a/../b", "..", "/..",
		"{", "{}", "}{", "{{profile_dir}}", "{profile_dir", "{profile_dir}{profile_dir}", "{workspace}/x", "/a\x00b", "//", "/./a/.", "~/{domain_dir}", "{profile_name}/..",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := config.Expand(s, "/home/dev", fuzzTokens)
		if err != nil {
			return
		}
		if !filepath.IsAbs(got) || filepath.Clean(got) != got || strings.ContainsRune(got, 0) {
			t.Errorf("%q became %q", s, got)
		}
		if slices.Contains(strings.Split(s, "/"), "..") || slices.Contains(strings.Split(got, "/"), "..") {
			t.Errorf("%q, which leads upwards, became %q", s, got)
		}
		if strings.HasPrefix(s, "~") && !strings.HasPrefix(got, "/home/dev") {
			t.Errorf("%q left the home directory: %q", s, got)
		}
		if !strings.ContainsAny(s, "{}~") && got != filepath.Clean(s) {
			t.Errorf("%q became %q without a token", s, got)
		}
	})
}

// Free text keeps everything that is not a token, and tokens are replaced once.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "{profile_name}", "{\"a\": {profile_name}}", "${profile_name}", "{{domain_hash}}", "{nope}", "}}{{", "{profile_name"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := config.Words(s, fuzzTokens)
		// An independent way to the same result: no token contains another, so
		// one pass of the standard library's replacer must agree.
		var pairs []string
		for _, name := range config.TokenNames {
			pairs = append(pairs, "{"+name+"}", fuzzTokens[name])
		}
		if want := strings.NewReplacer(pairs...).Replace(s); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	})
}

// Words that are quoted again and split again are the same words.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"", "adb devices", `a "b c" 'd e' f\ g`, `"`, `\`, `''`, `a""b`, "a\tb", `"\$\x"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := config.SplitWords(s)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		again, err := config.SplitWords(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q gives %q, and that %q, %v", s, words, again, err)
		}
	})
}

// A file that is accepted, written out and read again says the same; whatever is
// refused is refused with a line; what is accepted always merges.
func FuzzFile(f *testing.F) {
	f.Add([]byte(config.Template))
	f.Add([]byte(baseForNarrowing))
	for _, b := range badInputs {
		f.Add([]byte(b.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, tree, problems := config.CheckedValues(data)
		for _, p := range problems {
			if p.Line < 1 && len(data) > 0 {
				t.Errorf("problem without a line: %v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		if err := config.MergedSettings(data); err != nil {
			t.Errorf("accepted but not merged: %v", err)
		}
		text, err := toml.Marshal(tree)
		if err != nil {
			return // the writer knows fewer notations than the reader
		}
		again, _, problems := config.CheckedValues(text)
		if len(problems) > 0 || !maps.Equal(values, again) {
			t.Errorf("read again, it differs: %v\n%v\n%v", problems, values, again)
		}
	})
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"thme", "theme", 1}, {"htme", "thme", 1}, {"image", "images", 1}, {"kitten", "sitting", 3}} {
		if got := config.Distance(tc.a, tc.b); got != tc.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
