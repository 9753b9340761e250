package ignore_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names are what random trees are made of: few and short, so that patterns hit,
// with every byte in them that some syntax gives a meaning.
var names = []string{"a", "b", "c", "ab", "ba", "abc", "foo", "foo.o", "bar.txt", "x1", "A", "Zed", " ", "a ", " a", "a b",
	"#a", "!a", "!", "#", "*", "a*", "**", "?", "[a]", "a]", "[", "]", "-", "^", "a-c", `\`, `a\`, `\a`, ":", ":a", ".hidden",
	"{a,b}", "\xff", "a\xfe", "é", "\t", "a\tb", "a\r", "line\nfeed", "\x01", "\x0b", "\x7f", "~", "aaa", "aaaa", "..."}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// randomTree makes 220 files and directories below root, and maps each path
// to whether it is a directory.
func randomTree(t *testing.T, rng *rand.Rand, root string) map[string]bool {
	t.Helper()
	tree, dirs := map[string]bool{}, []string{""}
	for len(tree) < 220 {
		dir := pick(rng, dirs)
		path := strings.TrimPrefix(dir+"/"+pick(rng, names), "/")
		if _, taken := tree[path]; taken || strings.Count(path, "/") > 5 {
			continue
		}
		var err error
		if tree[path] = rng.IntN(3) == 0; tree[path] {
			err = os.Mkdir(filepath.Join(root, path), 0o700)
			dirs = append(dirs, path)
		} else {
			err = os.WriteFile(filepath.Join(root, path), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// randomRules writes ignore files for the work tree, some of its directories, and
// usually the two lists outside.
func randomRules(rng *rand.Rand, tree map[string]bool, paths []string) ruleFiles {
	files := ruleFiles{"": ""}
	for _, dir := range []string{infoExclude, excludesFile} {
		if rng.IntN(3) > 0 {
			files[dir] = ""
		}
	}
	for _, path := range paths {
		if tree[path] && rng.IntN(4) == 0 {
			files[path] = ""
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		files[dir] = randomFile(rng, dir, paths)
	}
	return files
}

func randomFile(rng *rand.Rand, dir string, paths []string) string {
	var out strings.Builder
	if rng.IntN(10) == 0 {
		out.WriteString("\xef\xbb\xbf")
	}
	for range 1 + rng.IntN(6) {
		out.WriteString(randomLine(rng, dir, paths))
		out.WriteString(pick(rng, []string{"\n", "\n", "\n", "\n", "\r\n", "\r\n", "\r\r\n", "\n\n", "\n \n"}))
	}
	text := out.String()
	if rng.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

func randomLine(rng *rand.Rand, dir string, paths []string) string {
	var line string
	switch rng.IntN(12) {
	case 0: // anything at all
		for range rng.IntN(12) {
			line += pick(rng, soup)
		}
	case 1:
		line = pick(rng, []string{"*", "*/", "/*", "**", "**/", "/**", "*/*", "**/*", "**/*/", "*/**", "/", "//", "!", "#", "", "***", "*.*"})
	default:
		line = blur(rng, near(rng, dir, paths))
	}
	if rng.IntN(12) == 0 {
		line = "/" + line
	}
	if rng.IntN(4) == 0 {
		line = "!" + line
	}
	return line + pick(rng, []string{"", "", "", "", "", "", "", "/", "/", "/", "/*", "/**", " ", "  ", `\ `, " \\", "\t", "\\", "\x00x"})
}

// near returns a path that exists, or its end, preferably below dir.
func near(rng *rand.Rand, dir string, paths []string) string {
	path := pick(rng, paths)
	for range 20 {
		if below, ok := strings.CutPrefix(path, dir+"/"); ok && dir != "" {
			path = below
			break
		}
		path = pick(rng, paths)
	}
	if rng.IntN(2) == 0 {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return path
}

var soup = []string{"a", "b", "c", "o", "/", "/", "*", "**", "**/", "/**/", "?", "[", "]", "[a-c]", "[!a]", "[^b]", "[]a]", "[!]]", `\`, `\\`,
	`\*`, `\?`, `\[`, `\/`, "-", "!", "^", " ", "#", "[:", ":]", "[[:alpha:]]", "[![:space:]]", "[[:nonsense:]]", "[a-", "[z-a]", `[\]]`,
	`[\a-\c]`, "[--0]", "[a-c-e]", "[[:alpha:]-z]", "[[:alpha:]", "[[:a]", "[[:]", "[!", "[a/b]", "\xff", "\xc3\xa9", "\t", "\r", "\x00", ".", "foo"}

// blur replaces parts of a path by patterns that could match them.
func blur(rng *rand.Rand, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch rng.IntN(8) {
		case 0:
			parts[i] = pick(rng, []string{"*", "**", "***", "?*", "*?"})
		case 1, 2, 3:
			parts[i] = blurName(rng, part)
		default:
			if rng.IntN(3) > 0 {
				parts[i] = quote(part)
			}
		}
	}
	if i := rng.IntN(len(parts)); rng.IntN(6) == 0 {
		parts = slices.Insert(parts, i, "**")
	}
	if i := rng.IntN(len(parts)); rng.IntN(6) == 0 && len(parts) > 1 {
		parts = slices.Delete(parts, i, i+1)
	}
	return strings.Join(parts, pick(rng, []string{"/", "/", "/", "/", "/", "/", "/", `\/`, "/**/", "**/"}))
}

func quote(name string) string {
	var out strings.Builder
	for i := range len(name) {
		if strings.IndexByte("\\*?[!# ", name[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(name[i])
	}
	return out.String()
}

func blurName(rng *rand.Rand, name string) string {
	var out strings.Builder
	for i := range len(name) {
		c := name[i : i+1]
		switch rng.IntN(9) {
		case 0:
			out.WriteString(pick(rng, []string{"*", "**", "*" + c, c + "*", "**" + c, c + "**"}))
		case 1:
			out.WriteString("?")
		case 2:
			out.WriteString(`\` + c)
		case 3:
			out.WriteString(pick(rng, []string{"[" + c + "]", "[!" + c + "]", "[a-z]", "[!z]", "[]" + c + "]", `[\` + c + "]", "[x" + c + "-]", "[" + c + "-" + c + "]", "[a-" + c + "]"}))
		case 4:
			class := pick(rng, []string{"alpha", "digit", "alnum", "upper", "lower", "xdigit", "blank", "space", "cntrl", "graph", "print", "punct", "word"})
			out.WriteString("[" + pick(rng, []string{"", "!", "^", "x"}) + "[:" + class + ":]" + pick(rng, []string{"", "_", "-z"}) + "]")
		case 5:
			out.WriteString(pick(rng, soup))
		default:
			out.WriteString(c)
		}
	}
	return out.String()
}
