package gitindex_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
)

// a repo is a scratch repository that real git writes.
type repo struct {
	dir      string
	hashSize int
}

func newRepo(t *testing.T, hashSize int) repo {
	t.Helper()
	r := repo{dir: t.TempDir(), hashSize: hashSize}
	format := map[int]string{gitindex.SHA1: "sha1", gitindex.SHA256: "sha256"}[hashSize]
	r.git(t, "", "init", "-q", "--template=", "--object-format="+format)
	return r
}

// git runs git with input, and returns what it printed.
func (r repo) git(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(input)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "LC_ALL=C"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

// add tracks the paths without files on disk, in conflict at those that end in "|".
func (r repo) add(t *testing.T, paths ...string) {
	t.Helper()
	blob := strings.TrimSpace(r.git(t, "x", "hash-object", "-w", "--stdin"))
	var info strings.Builder
	for _, path := range paths {
		path, conflict := strings.CutSuffix(path, "|")
		if !conflict {
			fmt.Fprintf(&info, "100644 %s 0\t%s\x00", blob, path)
			continue
		}
		for stage := 1; stage <= 3; stage++ {
			fmt.Fprintf(&info, "100644 %s %d\t%s\x00", blob, stage, path)
		}
	}
	r.git(t, info.String(), "update-index", "-z", "--index-info")
}

func (r repo) index(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// check compares the set with git's own listing.
func (r repo) check(t *testing.T) *gitindex.Set {
	t.Helper()
	set, err := gitindex.Tracked(r.index(t), r.hashSize)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSuffix(r.git(t, "", "ls-files", "-z", "--sparse"), "\x00"), "\x00")
	want := slices.Compact(listed)
	if got := slices.Collect(set.All()); !slices.Equal(got, want) {
		t.Fatalf("got %.300q, git lists %.300q", got, want)
	}
	for _, path := range want {
		if file := !strings.HasSuffix(path, "/"); set.Has(path) != file || set.Has(path+"x") {
			t.Errorf("Has(%q) = %v", path, set.Has(path))
		}
		for i := range path {
			if path[i] == '/' && !set.Below(path[:i]) {
				t.Errorf("Below(%q) is false, but %q is tracked", path[:i], path)
			}
		}
	}
	return set
}

var somePaths = []string{"a", "a.b", "a/b", "a/c/d", "a0", "b|", "dir/deep/er/file", "dir/deep/er/file2", "dir/deeper", "é", "\xff\xfe",
	"with space", "with\nfeed", strings.Repeat("long/", 700) + "x", strings.Repeat("long/", 819) + "x"}

func TestAgreesWithGit(t *testing.T) {
	t.Parallel()
	for _, size := range []int{gitindex.SHA1, gitindex.SHA256} {
		for version := 2; version <= 4; version++ {
			t.Run(fmt.Sprintf("version %d, %d bytes", version, size), func(t *testing.T) {
				t.Parallel()
				r := newRepo(t, size)
				r.add(t, somePaths...)
				if version == 3 {
					// Git writes version 3 only where an entry needs its flags.
					os.WriteFile(filepath.Join(r.dir, "later"), nil, 0o600)
					r.git(t, "", "add", "-N", "later")
				} else {
					r.git(t, "", "update-index", fmt.Sprintf("--index-version=%d", version))
				}
				if got := int(r.index(t)[7]); got != version {
					t.Fatalf("git wrote version %d", got)
				}
				set := r.check(t)
				for _, no := range []string{"", "A", "a/", "a/b/c", "dir", "zzz"} {
					if set.Has(no) {
						t.Errorf("Has(%q)", no)
					}
				}
				if set.Below("a/b") || set.Below("di") || set.Below("b") || !set.Below("") {
					t.Error("Below is wrong about a/b, di, b, or the work tree")
				}
			})
		}
	}
}

func TestSubmoduleAndExtensions(t *testing.T) {
	t.Parallel()
	r := newRepo(t, gitindex.SHA1)
	r.add(t, "a", "dir/b")
	r.git(t, "", "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	r.git(t, "", "commit", "-qm", "x") // leaves a TREE extension
	r.git(t, "", "update-index", "--force-untracked-cache")
	if data := string(r.index(t)); !strings.Contains(data, "TREE") || !strings.Contains(data, "UNTR") {
		t.Fatal("git wrote no extensions")
	}
	if set := r.check(t); !set.Has("sub") || set.Below("sub") {
		t.Error("a submodule is one path")
	}
}

func TestSparse(t *testing.T) {
	t.Parallel()
	r := newRepo(t, gitindex.SHA1)
	r.add(t, "a", "in/b", "out/c", "out/d/e", "outer/f")
	r.git(t, "", "commit", "-qm", "x")
	r.git(t, "", "reset", "-q", "--hard")
	r.git(t, "", "sparse-checkout", "set", "--cone", "--sparse-index", "in")
	set := r.check(t)
	for path, want := range map[string]bool{"out": true, "out/c": true, "out/d/e": true, "outer/f": true, "in": false, "in/b": false, "a": false, "ou": false} {
		if set.Sparse(path) != want {
			t.Errorf("Sparse(%q) = %v", path, !want)
		}
	}
	if !set.Below("out") || set.Has("out") || set.Has("out/") || set.Len() != 4 {
		t.Errorf("a sparse directory is a directory: %q", slices.Collect(set.All()))
	}
}

func TestSplitIndexIsRefused(t *testing.T) {
	t.Parallel()
	r := newRepo(t, gitindex.SHA1)
	r.add(t, "a")
	r.git(t, "", "update-index", "--split-index")
	if _, err := gitindex.Tracked(r.index(t), r.hashSize); !errors.Is(err, gitindex.ErrSplit) {
		t.Errorf("split index: %v", err)
	}
	r.git(t, "", "update-index", "--no-split-index")
	r.check(t)
}
