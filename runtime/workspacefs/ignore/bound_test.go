package ignore_test

import (
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
)

// catastrophes are patterns that a matcher with naive backtracking would not
// finish in the lifetime of the machine, and paths that they nearly match.
func catastrophes() map[string]string {
	name, deep := strings.Repeat("a", 255), strings.Repeat("a/", 2000)+"a"
	return map[string]string{
		strings.Repeat("*a", 120) + "*b":               name,
		strings.Repeat("**a", 2000) + "b":              name,
		strings.Repeat("*?", 100) + "[!a]":             name,
		strings.Repeat("*[a-z]", 100) + "[[:digit:]]*": name,
		"**/" + strings.Repeat("a/**/", 1000) + "b":    deep,
		strings.Repeat("**/*a*/", 900) + "**/b":        deep,
		strings.Repeat(`**\/*`, 900) + "b":             deep,
		strings.Repeat("*/", 1900) + "b":               deep,
		"[" + strings.Repeat("b", 20000) + "]*b":       name,
	}
}

// TestCatastrophicPatterns ends at all only if the work is not exponential.
func TestCatastrophicPatterns(t *testing.T) {
	t.Parallel()
	for pattern, path := range catastrophes() {
		for _, negate := range []string{"", "!"} {
			rules := ruleFiles{"": negate + pattern}.rules(t)
			dir, name := "", path
			if i := strings.LastIndexByte(path, '/'); i >= 0 {
				dir, name = path[:i], path[i+1:]
			}
			if got := rules.Match(dir, name, false); got != ignore.None {
				t.Errorf("%.40q matches", pattern)
			}
		}
	}
}

// FuzzMatch checks that no input panics or hangs, and that Match and Ignored agree.
func FuzzMatch(f *testing.F) {
	for _, row := range manual {
		for _, path := range append(row.wantIn, row.wantOut...) {
			f.Add(row.files[""], row.files["d"], path, true)
		}
	}
	for pattern, path := range catastrophes() {
		f.Add(pattern, "", path, false)
	}
	f.Fuzz(func(t *testing.T, root, below, path string, isDir bool) {
		if !clean(path) || len(root) > 1<<16 || len(below) > 1<<16 || len(path) > 1<<12 {
			return
		}
		r := &ignore.Rules{}
		if r.Set("", []byte(root)) != nil || r.Set("d", []byte(below)) != nil {
			t.Fatal("refused a small file")
		}
		ours(t, r, path, isDir)
	})
}

func clean(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || len(part) > 255 {
			return false
		}
	}
	return true
}

// usual is the kind of file that people have.
const usual = "# build\n/bin/\n/dist/\n*.o\n*.a\n*.so\n*.py[cod]\n__pycache__/\nnode_modules/\n.cache/\n.env\n.env.*\n!.env.example\n" +
	"coverage/\n*.log\nnpm-debug.log*\n.idea/\n.vscode/*\n!.vscode/settings.json\n**/generated/*.go\ndocs/_build/\n*.swp\n*~\n.DS_Store\n" +
	"target/\n/vendor/**/testdata/\n*.test\n*.prof\ntmp/\n"

func BenchmarkIgnored(b *testing.B) {
	r := &ignore.Rules{}
	for _, dir := range []string{"", "src", "src/web"} {
		if err := r.Set(dir, []byte(usual)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		r.Ignored("src/web/component/button/index.ts", false)
	}
}

func BenchmarkMatch(b *testing.B) {
	r := &ignore.Rules{}
	if err := r.Set("", []byte(usual)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r.Match("src/web/component/button", "index.ts", false)
	}
}

// BenchmarkHostile is the worst a file of MaxFile bytes does to one question.
func BenchmarkHostile(b *testing.B) {
	name := strings.Repeat("a", 255)
	for what, line := range map[string]string{
		"one-letter":  "*b*\n",
		"late-miss":   "*" + strings.Repeat("?", 120) + "b*\n",
		"many-stars":  strings.Repeat("*a", 60) + "*b\n",
		"big-classes": "*[" + strings.Repeat("b", 8000) + "]*\n",
	} {
		b.Run(what, func(b *testing.B) {
			r := &ignore.Rules{}
			if err := r.Set("", []byte(strings.Repeat(line, ignore.MaxFile/len(line)))); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				r.Match("", name, false)
			}
		})
	}
}
