//go:build sandbox

package e2e_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/e2e"
)

// An attack is what somebody tries inside, with root, and a twin: the same without the
// defect, which has to work.
type attack struct{ row, try, twin string }

// attempt runs attacks in one sandbox, each in a shell of its own, and their twins.
func attempt(t *testing.T, h *e2e.Home, attacks []attack) {
	t.Helper()
	args := []string{"bash", "-c", `for s; do sh -ec "$s" </dev/null >/dev/null 2>&1; echo $?; done`, "sh"}
	for _, a := range attacks {
		args = append(args, a.try, a.twin)
	}
	r := h.Run(args...)
	status := strings.Fields(r.Stdout)
	if len(status) != 2*len(attacks) {
		t.Fatalf("%v", r)
	}
	for i, a := range attacks {
		if status[2*i] == "0" {
			t.Errorf("%s: %q succeeds", a.row, a.try)
		}
		if status[2*i+1] != "0" {
			t.Errorf("%s: the twin %q fails with %s", a.row, a.twin, status[2*i+1])
		}
	}
}

// A bird is a canary: a program whose run leaves a file.
type bird struct {
	t    *testing.T
	path string
}

func newBird(t *testing.T, h *e2e.Home) bird {
	return bird{t, filepath.Join(h.Dir, "canary")}
}

// program is a script that runs it. It is the same inside, where it leaves nothing.
func (c bird) program() string { return "#!/bin/sh\ntouch " + c.path + "\n" }

// plant is a shell command that puts such a program at a path.
func (c bird) plant(path string) string {
	return fmt.Sprintf("printf '#!/bin/sh\\ntouch %s\\n' > %s && chmod 755 %s", c.path, path, path)
}

// silent fails the test when the canary has run.
func (c bird) silent(after string) {
	c.t.Helper()
	if os.Remove(c.path) == nil {
		c.t.Errorf("what was planted inside runs on the host: %s", after)
	}
}

// fires fails the test when it has not: the test would show nothing.
func (c bird) fires(after string) {
	c.t.Helper()
	if os.Remove(c.path) != nil {
		c.t.Errorf("the canary stays silent: %s", after)
	}
}

// executable writes a program on the host.
func executable(t *testing.T, h *e2e.Home, name, text string) {
	t.Helper()
	if err := os.Chmod(h.Write(name, text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// repository makes the workspace one, with a first commit.
func repository(t *testing.T, h *e2e.Home) {
	t.Helper()
	h.Write("../home/.gitconfig", "[user]\n\tname = Dev\n\temail = dev@example.org\n[protocol \"file\"]\n\tallow = always\n")
	h.Git("init", "-q")
	h.Write("file", "one\n")
	h.Git("add", "-A")
	h.Git("commit", "-q", "-m", "first")
}

// listing is every name below dir, with its type, size and, of a link, where it leads.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%q %v", path[len(dir):], info.Mode())
		if info.Mode().IsRegular() {
			line += fmt.Sprint(" ", info.Size())
		}
		if target, err := os.Readlink(path); err == nil {
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// obeyed is the content of everything below dir that git obeys.
func obeyed(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names := []string{"config", "config.worktree", "commondir", "gitdir", ".git", "attributes", "exclude", "alternates"}
		if slices.Contains(names, d.Name()) || filepath.Base(filepath.Dir(path)) == "hooks" {
			data, err := os.ReadFile(path)
			fmt.Fprintf(&all, "%s %v %q\n", path[len(dir):], d.Type(), data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// exchange swaps what is under two names, at once.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
