package ignore_test

import (
	"bytes"
	"errors"
	"strconv"
	"sync"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
)

// manual has a row for each thing gitignore(5) says; wantIn and wantOut are paths
// that are ignored and not, directories with a "/" at the end.
var manual = []struct {
	says    string
	files   ruleFiles
	wantIn  []string
	wantOut []string
}{
	{"a blank line matches no files", ruleFiles{"": "\n\r\n   \na\n"}, []string{"a"}, []string{"b", " "}},
	{"a line starting with # is a comment", ruleFiles{"": "#a\n"}, nil, []string{"#a", "a"}},
	{"a backslash in front of the first hash", ruleFiles{"": `\#a`}, []string{"#a"}, []string{"a", `\#a`}},
	{"trailing spaces are ignored", ruleFiles{"": "a  \n"}, []string{"a"}, []string{"a  "}},
	{"unless quoted with a backslash", ruleFiles{"": "a\\ \nb\\  \n"}, []string{"a ", "b "}, []string{"a", "b", "b  "}},
	{"a tab is no space", ruleFiles{"": "a\t\n"}, []string{"a\t"}, []string{"a"}},
	{"! negates the pattern", ruleFiles{"": "*.o\n!keep.o\n"}, []string{"a.o", "d/a.o"}, []string{"keep.o", "d/keep.o"}},
	{"a file becomes included again, and then ignored", ruleFiles{"": "a\n!a\na\n"}, []string{"a"}, nil},
	{"not below an excluded directory", ruleFiles{"": "d\n!d/a\n", "d": "!*\n"}, []string{"d/", "d/a", "d/e/a"}, nil},
	{"a backslash in front of the first !", ruleFiles{"": `\!a`}, []string{"!a"}, []string{"a"}},
	{"a separator at the beginning anchors", ruleFiles{"": "/a\n"}, []string{"a"}, []string{"d/a"}},
	{"a separator in the middle anchors", ruleFiles{"": "doc/frotz/\n"}, []string{"doc/frotz/"}, []string{"a/doc/frotz/", "doc/frotz"}},
	{"relative to the level of the file", ruleFiles{"d": "/a\ne/b\n"}, []string{"d/a", "d/e/b"}, []string{"a", "e/b", "d/e/a", "dd/a"}},
	{"else it matches at any level below", ruleFiles{"d": "a\n"}, []string{"d/a", "d/e/a"}, []string{"a", "e/a"}},
	{"a separator at the end matches only directories", ruleFiles{"": "frotz/\n"}, []string{"frotz/", "a/frotz/", "frotz/a"}, []string{"frotz", "a/frotz"}},
	{"* matches anything except a slash", ruleFiles{"": "/a*c\n"}, []string{"ac", "abc", "abcc"}, []string{"ab", "a/c", "abcd"}},
	{"? matches one byte except a slash", ruleFiles{"": "/a?c\n"}, []string{"abc", "a\xffc"}, []string{"ac", "a/c", "a\xc3\xa9c"}},
	{"[a-z] matches one of a range", ruleFiles{"": "x[a-cz]\n"}, []string{"xa", "xb", "xc", "xz"}, []string{"x", "xd", "x-", "xaa"}},
	{"[!...] and [^...] match the others", ruleFiles{"": "x[!a]\ny[^a]\n"}, []string{"xb", "yb", "y^"}, []string{"xa", "ya", "x", "y"}},
	{"a class never matches a slash", ruleFiles{"": "/x[!a]y\n"}, []string{"xzy"}, []string{"x/y"}},
	{"] comes first in a class", ruleFiles{"": "x[]-]\ny[!]]\n"}, []string{"x]", "x-", "ya"}, []string{"y]"}},
	{"POSIX classes", ruleFiles{"": "x[[:digit:][:upper:]_]\n"}, []string{"x1", "xA", "x_"}, []string{"xa", "x:"}},
	{"an unknown class spoils the pattern", ruleFiles{"": "x[a[:hex:]]\n"}, nil, []string{"xa", "x["}},
	{"an open class spoils the pattern", ruleFiles{"": "x[a\n"}, nil, []string{"xa", "x[a"}},
	{"a trailing backslash spoils the pattern", ruleFiles{"": "a\\\nb\\/\n"}, nil, []string{"a", `a\`, "b/", `b\/`}},
	{"leading **/ matches in all directories", ruleFiles{"": "**/foo/bar\n"}, []string{"foo/bar", "a/foo/bar", "a/b/foo/bar"}, []string{"foo/a/bar", "xfoo/bar"}},
	{"**/foo is foo", ruleFiles{"": "**/foo\n"}, []string{"foo", "a/foo", "foo/a"}, []string{"xfoo"}},
	{"trailing /** matches everything inside", ruleFiles{"": "abc/**\n"}, []string{"abc/a", "abc/a/b"}, []string{"abc/", "abc", "d/abc/a"}},
	{"/**/ matches zero or more directories", ruleFiles{"": "a/**/b\n"}, []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"ab", "a/xb", "x/a/b"}},
	{"other consecutive asterisks are regular ones", ruleFiles{"": "/a**b\n/c/x**\n"}, []string{"ab", "axb", "c/xy"}, []string{"a/b", "a/xb"}},
	{"as git does it, a fixed beginning may be glued to **/", ruleFiles{"": "/foo**/bar\n"}, []string{"foobar", "foo/bar", "foox/y/bar"}, []string{"fo/bar"}},
	{"a quoted slash after ** must be there", ruleFiles{"": "**\\/a\n"}, []string{"d/a"}, []string{"a"}},
	{"everything but one directory", ruleFiles{"": "/*\n!/foo\n/foo/*\n!/foo/bar\n"}, []string{"a", "foo/a"}, []string{"foo/", "foo/bar/", "foo/bar/a"}},
	{"lower files override higher ones", ruleFiles{"": "*.o\n", "d": "!a.o\n", "d/e": "a.o\n"}, []string{"a.o", "d/e/a.o", "d/b.o"}, []string{"d/a.o", "d/f/a.o"}},
	{".gitignore overrides info/exclude", ruleFiles{"": "!a\n", infoExclude: "a\nb\n"}, []string{"b"}, []string{"a"}},
	{"info/exclude overrides core.excludesFile", ruleFiles{infoExclude: "!a\n", excludesFile: "a\nb\nd/c\n"}, []string{"b", "x/b", "d/c"}, []string{"a"}},
	{"a byte order mark is skipped", ruleFiles{"": "\xef\xbb\xbfa\n\xef\xbb\xbfb\n"}, []string{"a", "\xef\xbb\xbfb"}, []string{"b"}},
	{"one carriage return before a line feed is skipped", ruleFiles{"": "a\r\nb\r\r\nc\r"}, []string{"a", "b\r", "c"}, []string{"b", "a\r"}},
	{"a NUL byte ends the line", ruleFiles{"": "a\x00b\n"}, []string{"a"}, []string{"b"}},
}

func TestManual(t *testing.T) {
	t.Parallel()
	for _, row := range manual {
		t.Run(row.says, func(t *testing.T) {
			t.Parallel()
			rules := row.files.rules(t)
			for _, paths := range []struct {
				list []string
				want bool
			}{{row.wantIn, true}, {row.wantOut, false}} {
				for _, path := range paths.list {
					trimmed, isDir := trimSlash(path)
					if got := ours(t, rules, trimmed, isDir) == ignore.Ignored; got != paths.want {
						t.Errorf("%q ignored: %v, want %v", path, got, paths.want)
					}
				}
			}
		})
	}
}

func trimSlash(path string) (string, bool) {
	if path[len(path)-1] == '/' {
		return path[:len(path)-1], true
	}
	return path, false
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	rules := ruleFiles{"": "*.o\n!keep.o\n"}.rules(t)
	for name, want := range map[string]ignore.Verdict{"a.o": ignore.Ignored, "keep.o": ignore.Included, "a.c": ignore.None} {
		if got := rules.Match("d", name, false); got != want {
			t.Errorf("Match(d, %q) = %v, want %v", name, got, want)
		}
	}
	if rules.Ignored("", true) {
		t.Error("the work tree itself is ignored")
	}
}

func TestRulesChange(t *testing.T) {
	t.Parallel()
	r := &ignore.Rules{}
	expect := func(when string, want bool) {
		t.Helper()
		if got := r.Ignored("d/a", false); got != want {
			t.Errorf("%s: ignored: %v, want %v", when, got, want)
		}
	}
	set := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect("no rules", false)
	set(r.Set("d", []byte("a")))
	expect("after Set", true)
	set(r.Set("d", []byte("b")))
	expect("after another Set", false)
	set(r.SetExclude([]byte("a")))
	expect("after SetExclude", true)
	set(r.Set("d", []byte("!a")))
	expect("after Set of a negation", false)
	r.Remove("d")
	expect("after Remove", true)
	set(r.SetExclude(nil))
	expect("after SetExclude of nothing", false)
	set(r.SetGlobal([]byte("a")))
	expect("after SetGlobal", true)
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	r := ruleFiles{"": "a\n"}.rules(t)
	full := append(bytes.Repeat([]byte("x\n"), ignore.MaxFile/2-1), "b\n"...)
	if err := r.Set("", append(full, 'c')); !errors.Is(err, ignore.ErrTooLarge) {
		t.Errorf("a file over MaxFile: %v", err)
	}
	if !r.Ignored("a", false) {
		t.Error("a refused file replaced the old one")
	}
	if err := r.Set("", full); err != nil || !r.Ignored("b", false) || r.Ignored("a", false) {
		t.Errorf("a file of MaxFile: %v", err)
	}
	long := bytes.Repeat([]byte("x"), ignore.MaxFile)
	n, err := 0, error(nil)
	for ; err == nil && n <= ignore.MaxTotal/ignore.MaxFile; n++ {
		err = r.Set(strconv.Itoa(n), long)
	}
	last := strconv.Itoa(n - 1)
	if !errors.Is(err, ignore.ErrTooLarge) || n < 10 || r.Ignored(last+"/"+string(long), false) {
		t.Errorf("file %d, over MaxTotal: %v", n, err)
	}
	r.Remove("0")
	if err := r.Set(last, long); err != nil || !r.Ignored(last+"/"+string(long), false) {
		t.Errorf("after making room: %v", err)
	}
}

// TestConcurrentUse has readers ask while lists change; each answer is that of one of
// the two states, and under the race detector there are no others.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := ruleFiles{"": "a\n"}.rules(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 2000 {
				if r.Match("d", "b", false) == ignore.Included || !r.Ignored("a/x", false) {
					t.Error("an answer that no state gives")
				}
			}
		})
	}
	for range 500 {
		if err := r.Set("d", []byte("b\n")); err != nil {
			t.Error(err)
		}
		r.Remove("d")
	}
	group.Wait()
}
