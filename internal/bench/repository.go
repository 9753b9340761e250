package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A repository of the size at which looking at every file is felt: 25 directories of
// 20 directories of 100 files, of 0.2 to 3 KB.
const (
	repositoryTop   = 25
	repositoryDirs  = 20
	repositoryFiles = 100
	repositoryTotal = repositoryTop * repositoryDirs * repositoryFiles
)

// written is when the files were last changed: long before git looks at them, which
// otherwise would read them again and again.
var written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// makeRepository makes the repository at dir, with everything committed.
func makeRepository(ctx context.Context, dir string) error {
	if err := git(ctx, dir, nil, "init", "-q", "-b", "main", "."); err != nil {
		return err
	}
	history := exec.CommandContext(ctx, "git", "fast-import", "--quiet")
	history.Dir, history.Env, history.Stderr = dir, gitEnv(), os.Stderr
	stream, err := history.StdinPipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	if err := history.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	buffer := bufio.NewWriterSize(stream, 1<<20)
	made := writeTree(dir, buffer)
	if err := buffer.Flush(); err != nil && made == nil {
		made = fmt.Errorf("write the history: %w", err)
	}
	stream.Close()
	if err := history.Wait(); err != nil {
		return fmt.Errorf("import the history: %w", err)
	}
	if made != nil {
		return made
	}
	if err := git(ctx, dir, nil, "read-tree", "HEAD"); err != nil {
		return err
	}
	return git(ctx, dir, nil, "update-index", "-q", "--refresh")
}

// writeTree writes the files, and the history that has them.
func writeTree(dir string, history io.Writer) error {
	const who = "Somebody <somebody@example.org> 1767323045 +0000"
	fmt.Fprintf(history, "commit refs/heads/main\nauthor %s\ncommitter %s\ndata 5\nfirst\n", who, who)
	one := func(name string, content []byte) error {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			return fmt.Errorf("make the tree: %w", err)
		}
		fmt.Fprintf(history, "M 100644 inline %s\ndata %d\n%s\n", name, len(content), content)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("write the tree: %w", err)
		}
		return os.Chtimes(path, written, written)
	}
	if err := one(".gitignore", []byte("/out*/\nnode_modules/\n")); err != nil {
		return err
	}
	for name, content := range module() {
		if err := one("module/"+name, []byte(content)); err != nil {
			return err
		}
	}
	random := rand.New(rand.NewPCG(5, 11)) //nolint:gosec // not a secret
	for top := range repositoryTop {
		for sub := range repositoryDirs {
			name := fmt.Sprintf("part%02d/dir%02d", top, sub)
			for n := range repositoryFiles {
				if err := one(fmt.Sprintf("%s/file%02d.txt", name, n), text(random)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// text is some lines of words, each file's its own.
func text(random *rand.Rand) []byte {
	const line = "func %08x(request, answer) { session token policy network sandbox }\n"
	var b bytes.Buffer
	for range 3 + random.IntN(42) {
		fmt.Fprintf(&b, line, random.Uint32())
	}
	return b.Bytes()
}

// copyTree makes an identical copy, with git's own note of what it looks like.
func copyTree(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %q: %w: %s", from, err, out)
	}
	return git(ctx, to, nil, "update-index", "-q", "--refresh")
}

func git(ctx context.Context, dir string, in io.Reader, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(), in
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, out)
	}
	return nil
}

// gitEnv has git heed no configuration of this host.
func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C.UTF-8"}
}

const modulePackages = 60

// module is a Go module that needs nothing from elsewhere: a program, packages, and one
// package all of them import.
func module() map[string]string {
	files := map[string]string{
		"go.mod":       "module example.org/program\n\ngo 1.24\n",
		"leaf/leaf.go": "package leaf\n\nfunc Leaf(n int) int { return n + Round }\n",
	}
	var imports, calls strings.Builder
	for n := range modulePackages {
		name := fmt.Sprintf("pack%02d", n)
		fmt.Fprintf(&imports, "import %q\n", "example.org/program/"+name)
		fmt.Fprintf(&calls, "\t%s.Do()\n", name)
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n\n\t\"example.org/program/leaf\"\n)\n\nfunc Do() {\n", name)
		for i := range 20 {
			fmt.Fprintf(&b, "\tfmt.Println(strings.Repeat(\"x\", leaf.Leaf(%d)))\n", i)
		}
		b.WriteString("}\n")
		files[name+"/"+name+".go"] = b.String()
	}
	files["main.go"] = "package main\n\n" + imports.String() + "\nfunc main() {\n" + calls.String() + "}\n"
	return files
}
