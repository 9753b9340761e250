package ignore_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
)

// The keys of a ruleFiles that are no directories.
const (
	infoExclude  = "//exclude"
	excludesFile = "//global"
)

// ruleFiles maps a directory, infoExclude or excludesFile to an ignore file's content.
type ruleFiles map[string]string

func (f ruleFiles) rules(t *testing.T) *ignore.Rules {
	t.Helper()
	r := &ignore.Rules{}
	for dir, text := range f {
		set := func(data []byte) error { return r.Set(dir, data) }
		switch dir {
		case infoExclude:
			set = r.SetExclude
		case excludesFile:
			set = r.SetGlobal
		}
		if err := set([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// a scratch is a repository and what real git says about it.
type scratch struct {
	tree, global string
	env          []string
}

func newScratch(t *testing.T) scratch {
	t.Helper()
	home := t.TempDir()
	s := scratch{tree: filepath.Join(home, "tree"), global: filepath.Join(home, "global")}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CEILING_DIRECTORIES=" + home, "LC_ALL=C"}
	cmd := exec.Command("git", "init", "-q", "--template=", s.tree)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return s
}

// write makes the rule files those of f, and no others.
func (s scratch) write(t *testing.T, before, f ruleFiles) {
	t.Helper()
	place := func(dir string) string {
		switch dir {
		case infoExclude:
			return filepath.Join(s.tree, ".git/info/exclude")
		case excludesFile:
			return s.global
		}
		return filepath.Join(s.tree, dir, ".gitignore")
	}
	for dir := range before {
		os.Remove(place(dir))
	}
	for dir, text := range f {
		os.MkdirAll(filepath.Dir(place(dir)), 0o700)
		if err := os.WriteFile(place(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// verdicts asks git about the paths, which must exist: git looks at the disk to
// tell directories from files. A path must not end in "/", or git matches its
// patterns against an empty name; the "./" keeps ":" from meaning pathspec magic.
func (s scratch) verdicts(t *testing.T, paths []string) []ignore.Verdict {
	t.Helper()
	cmd := exec.Command("git", "-C", s.tree, "-c", "core.excludesFile="+s.global,
		"check-ignore", "--no-index", "--stdin", "-z", "-v", "-n")
	cmd.Env = s.env
	cmd.Stdin = strings.NewReader("./" + strings.Join(paths, "\x00./") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: nothing is ignored
		t.Fatalf("git check-ignore: %v: %s", err, stderr.String())
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields) != 4*len(paths) {
		t.Fatalf("git answered %d fields for %d paths: %s", len(fields), len(paths), stderr.String())
	}
	all := make([]ignore.Verdict, len(paths))
	for i, path := range paths {
		answer := fields[4*i : 4*i+4] // source, line, pattern, path
		switch {
		case answer[3] != "./"+path:
			t.Fatalf("git answered about %q, asked about %q", answer[3], path)
		case answer[0] == "":
		case strings.HasPrefix(answer[2], "!"):
			all[i] = ignore.Included
		default:
			all[i] = ignore.Ignored
		}
	}
	return all
}

// ours walks down to the path the way a file system does, and checks that Ignored agrees.
func ours(t *testing.T, r *ignore.Rules, path string, isDir bool) ignore.Verdict {
	t.Helper()
	verdict := ignore.None
	for rest, dir := path, ""; verdict != ignore.Ignored; {
		name, below, more := strings.Cut(rest, "/")
		verdict = r.Match(dir, name, isDir || more)
		if !more {
			break
		}
		dir, rest = strings.TrimPrefix(dir+"/"+name, "/"), below
	}
	if got := r.Ignored(path, isDir); got != (verdict == ignore.Ignored) {
		t.Errorf("Ignored(%q, %v) = %v, but Match step by step says %v", path, isDir, got, verdict)
	}
	return verdict
}

// TestAgreesWithGit compares every verdict over random trees and rules with git's.
func TestAgreesWithGit(t *testing.T) {
	t.Parallel()
	trees, asked := 10, 0
	if os.Getenv("LAZARET_TEST_THOROUGH") != "" {
		trees = 250
	}
	tally := map[ignore.Verdict]int{}
	for seed := range trees {
		asked += compare(t, uint64(seed), tally)
	}
	if asked < 2000*trees {
		t.Errorf("asked about only %d paths", asked)
	}
	for _, v := range []ignore.Verdict{ignore.None, ignore.Ignored, ignore.Included} {
		if tally[v] < asked/50 {
			t.Errorf("verdict %v came up %d times in %d: the rules are too one-sided", v, tally[v], asked)
		}
	}
	t.Logf("%d paths: %v", asked, tally)
}

// TestClassesAgreeWithGit asks about every byte a name can be, and every named class.
func TestClassesAgreeWithGit(t *testing.T) {
	t.Parallel()
	s := newScratch(t)
	var paths []string
	for c := 1; c < 256; c++ {
		if c == '/' || c == '.' {
			continue
		}
		paths = append(paths, string([]byte{byte(c)}))
		if err := os.WriteFile(filepath.Join(s.tree, paths[len(paths)-1]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, class := range strings.Fields("alpha digit alnum upper lower xdigit blank space cntrl graph print punct word") {
		files := ruleFiles{"": "[[:" + class + ":]]\n"}
		s.write(t, nil, files)
		rules := files.rules(t)
		for i, want := range s.verdicts(t, paths) {
			if got := ours(t, rules, paths[i], false); got != want {
				t.Errorf("[[:%s:]] and byte %q: %v, git says %v", class, paths[i], got, want)
			}
		}
	}
}

const roundsPerTree = 10

// compare checks one random tree under some sets of rules and returns how many
// questions it asked.
func compare(t *testing.T, seed uint64, tally map[ignore.Verdict]int) int {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	s := newScratch(t)
	tree := randomTree(t, rng, s.tree)
	paths := slices.Sorted(maps.Keys(tree))
	before := ruleFiles{}
	for range roundsPerTree {
		files := randomRules(rng, tree, paths)
		s.write(t, before, files)
		before = files
		rules := files.rules(t)
		wrong := 0
		for i, want := range s.verdicts(t, paths) {
			tally[want]++
			got := ours(t, rules, paths[i], tree[paths[i]])
			if got == want {
				continue
			}
			if wrong++; wrong <= 3 {
				small := minimise(t, s, files, paths[i], tree[paths[i]])
				t.Errorf("seed %d: %q (directory: %v) is %v, git says %v\n%s", seed, paths[i], tree[paths[i]], got, want, small)
			}
		}
		if wrong > 3 {
			t.Fatalf("seed %d: %d wrong", seed, wrong)
		}
	}
	return roundsPerTree * len(paths)
}

// minimise drops lines of the rule files as long as git still disagrees with us.
func minimise(t *testing.T, s scratch, files ruleFiles, path string, isDir bool) string {
	t.Helper()
	differs := func(f ruleFiles) bool {
		s.write(t, files, f)
		defer s.write(t, f, files)
		return ours(t, f.rules(t), path, isDir) != s.verdicts(t, []string{path})[0]
	}
	small := maps.Clone(files)
	for dir := range files {
		lines := strings.SplitAfter(small[dir], "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			fewer := maps.Clone(small)
			fewer[dir] = strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			if differs(fewer) {
				small, lines = fewer, slices.Delete(lines, i, i+1)
			}
		}
		if small[dir] == "" {
			delete(small, dir)
		}
	}
	var out strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(small)) {
		fmt.Fprintf(&out, "  %q: %q\n", dir, small[dir])
	}
	return out.String()
}
