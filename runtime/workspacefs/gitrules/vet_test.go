package gitrules_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// index makes a version 2 index of regular files, with extensions behind them.
func index(extensions string, paths ...string) []byte {
	out := append([]byte("DIRC"), 0, 0, 0, 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(paths)))
	for _, path := range paths {
		entry := make([]byte, 62)
		binary.BigEndian.PutUint32(entry[24:], 0o100644)
		binary.BigEndian.PutUint16(entry[60:], uint16(len(path)))
		entry = append(entry, path...)
		out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	}
	out = append(out, extensions...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func TestUnsafeIndexes(t *testing.T) {
	t.Parallel()
	for _, path := range []string{".git/hooks/pre-commit", "../x", "a/../b", "sub/.git/config", ".GIT/config", "git~1/config", ".git ",
		"a/.git\u200c/x", `a\..\b`, `.git\hooks\x`} {
		if err := gitrules.Vet(gitrules.Main, "index", index("", path), gitindex.SHA1); !errors.Is(err, gitrules.ErrUnsafe) {
			t.Errorf("an index with %q: %v", path, err)
		}
	}
	for name, content := range map[string][]byte{"untracked cache": index("TREE\x00\x00\x00\x01xUNTR\x00\x00\x00\x01x", "a"), "noise": []byte("x"),
		"offset table": index("IEOT\x00\x00\x00\x04\x00\x00\x00\x01", "a"),
		"split":        index("link\x00\x00\x00\x00", "a")} {
		if err := gitrules.Vet(gitrules.Main, "index", content, gitindex.SHA1); !errors.Is(err, gitrules.ErrUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHarmlessIndexes(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"empty":              index(""),
		"usual":              index("TREE\x00\x00\x00\x01x", "..a/b", ".github/x", ".gitignore", "a/..b", "git/x", "hooks/pre-commit"),
		"a name like UNTR":   index("", "UNTR", "UNTR\x01"),
		"UNTR in other data": index("TREE\x00\x00\x00\x06xUNTRx", "a"),
	} {
		if err := gitrules.Vet(gitrules.Main, "index", content, gitindex.SHA1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"ref: hooks/post-commit", "ref:config\n", "ref: refs/../hooks/x", "ref: refs//x", "ref: HEAD", "ref: \n"} {
		if err := gitrules.Vet(gitrules.Refs, "index", []byte(content), gitindex.SHA1); !errors.Is(err, gitrules.ErrUnsafe) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if err := gitrules.Vet(gitrules.Main, "HEAD", make([]byte, 1<<20), gitindex.SHA1); !errors.Is(err, gitrules.ErrUnsafe) {
		t.Errorf("a large reference: %v", err)
	}
	for _, content := range []string{"", "ref: refs/heads/main\n", "ref: refs/remotes/origin/main", "0f0f\n"} {
		if err := gitrules.Vet(gitrules.Main, "HEAD", []byte(content), gitindex.SHA1); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// FuzzVet checks that no index panics, and that what is accepted has no path into a
// git directory.
func FuzzVet(f *testing.F) {
	f.Add(index("", "a", "b/c"))
	f.Add(index("UNTR\x00\x00\x00\x00", ".git/config"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := gitrules.Vet(gitrules.Main, "index", content, gitindex.SHA1); err != nil && !errors.Is(err, gitrules.ErrUnsafe) {
			t.Errorf("%v", err)
		}
	})
}

// TestWhatGitWritesPasses lets git write indexes of every shape that ordinary work
// gives them.
func TestWhatGitWritesPasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CEILING_DIRECTORIES=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil && args[0] != "merge" {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		if content, err := os.ReadFile(filepath.Join(dir, ".git/index")); err == nil {
			if err := gitrules.Vet(gitrules.Main, "index", content, gitindex.SHA1); err != nil {
				t.Errorf("after git %v: %v", args, err)
			}
		}
	}
	write := func(name, content string) {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main")
	write("a/b/c", "1\n")
	write("UNTR", "x")
	git("add", "-A")
	git("commit", "-qm", "1")
	git("checkout", "-q", "-b", "other")
	write("a/b/c", "2\n")
	git("commit", "-qam", "2")
	git("checkout", "-q", "main")
	write("a/b/c", "3\n")
	git("commit", "-qam", "3")
	git("merge", "other") // a conflict, with more than one stage
	write("a/b/c", "4\n")
	git("add", "a") // and its resolution, with REUC
	git("commit", "-qm", "4")
	write("new", "x")
	git("add", "-N", ".")
	git("reset", "-q", "--hard")
	git("update-index", "--index-version", "4")
	git("sparse-checkout", "set", "a")
	write("a/x", "x")
	git("stash", "-u")
}

// An index that holds together with ids of the other size says something else to git.
func TestAnIndexIsReadAsTheRepositorysGitReadsIt(t *testing.T) {
	t.Parallel()
	out := append([]byte("DIRC"), 0, 0, 0, 2)
	out = binary.BigEndian.AppendUint32(out, 1)
	entry := make([]byte, 40+gitindex.SHA256)
	copy(entry[60:], "\x00\x10.git/hooks") // the flags and the path of an entry with a short id
	entry = append(binary.BigEndian.AppendUint16(entry, 4), "a-ok"...)
	out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	sum := sha256.Sum256(out)
	out = append(out, sum[:]...)
	if err := gitrules.Vet(gitrules.Main, "index", out, gitindex.SHA256); err != nil {
		t.Errorf("with its own size: %v", err)
	}
	if err := gitrules.Vet(gitrules.Main, "index", out, gitindex.SHA1); !errors.Is(err, gitrules.ErrUnsafe) {
		t.Errorf("with the other: %v", err)
	}
}
