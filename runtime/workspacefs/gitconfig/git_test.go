package gitconfig_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

// soup is what random files are made of.
var soup = []string{"[", "]", "[core]", "[core]\n", "[Core \"Sub\"]\n", "[a.b]\n", "[a.B \"c.d\"]", "[x \"q\\\"\\\\\\z\"]\n", "[ \"s\"]", "[.]", "[a.]", "[.a]", "[a \"\"]",
	"[a\t\"t\"]", "[a\"b\"]", "[a \"b\" ]", "[include]\n", "[includeIf \"gitdir:~/x/\"]\n", "\n", "\n", "\n", "\r\n", "\r", " ", "\t", "=", "= ", " = ", "\"", "\"a b\"", "\" \"", "\"\"",
	"\\", "\\\n", "\\\r\n", "\\n", "\\t", "\\b", "\\\"", "\\\\", "\\x", "#", ";", "# note\n", " ; note\n", "key", "Key-2 = v\n", "path=~/a\n", "hooksPath = /x\n", "bare\n",
	"a b  c", "_", "1", "-", "x", ".", "\xff", "é", "\x0b", "\x0c", "\x7f", "\xef\xbb\xbf", "\xef"}

func randomFile(rng *rand.Rand) string {
	var out strings.Builder
	if rng.IntN(4) > 0 {
		out.WriteString(soup[2+rng.IntN(6)])
	}
	for range rng.IntN(8) {
		if rng.IntN(3) == 0 { // a whole setting
			fmt.Fprintf(&out, "k%d =%s%s%s\n", rng.IntN(3), soup[rng.IntN(len(soup))], soup[rng.IntN(len(soup))], soup[rng.IntN(len(soup))])
			continue
		}
		out.WriteString(soup[rng.IntN(len(soup))])
	}
	return out.String()
}

// listing writes the file the way git config --list -z does. White space inside values
// becomes spaces, for old and new git to say the same.
func listing(f gitconfig.File) string {
	var out strings.Builder
	for v := range f.All() {
		out.WriteString(v.Section)
		if v.Named {
			out.WriteString("." + v.Subsection)
		}
		if v.Section != "" || v.Named {
			out.WriteString(".")
		}
		out.WriteString(v.Key)
		if !v.Bare {
			out.WriteString("\n" + v.Value)
		}
		out.WriteString("\x00")
	}
	return spaces(out.String())
}

func spaces(s string) string { return strings.NewReplacer("\t", " ", "\r", " ").Replace(s) }

func TestAgreesWithGit(t *testing.T) {
	t.Parallel()
	rounds, taken := 500, 0
	if os.Getenv("LAZARET_TEST_THOROUGH") != "" {
		rounds = 20000
	}
	home := t.TempDir()
	for seed := range rounds {
		text := randomFile(rand.New(rand.NewPCG(uint64(seed), 1)))
		path := filepath.Join(home, "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "config", "--file", path, "--no-includes", "--list", "-z")
		cmd.Dir = home
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CEILING_DIRECTORIES=" + home}
		out, gitErr := cmd.Output()
		file, err := gitconfig.Parse([]byte(text))
		switch {
		case (err == nil) != (gitErr == nil):
			t.Errorf("seed %d: %q: %v, git says %v", seed, text, err, gitErr)
		case err == nil:
			taken++
			if got, want := listing(file), spaces(string(out)); got != want {
				t.Errorf("seed %d: %q: got %q, git lists %q", seed, text, got, want)
			}
		}
	}
	if taken < rounds/8 || taken > rounds*7/8 {
		t.Errorf("%d of %d files are good: too one-sided", taken, rounds)
	}
	t.Logf("%d files, %d good", rounds, taken)
}
