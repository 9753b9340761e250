package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// domains lists the Home's Domain Roots: those whose recorded workspace is its own, or
// a worktree that a session has of it.
func (h *Home) domains() []string {
	var roots []string
	all, _ := filepath.Glob(filepath.Join(h.Data, "domains", "*"))
	trees := []byte(h.Worktrees().Dir() + "/")
	for _, root := range all {
		identity, _ := os.ReadFile(filepath.Join(root, "identity"))
		if bytes.Contains(identity, []byte(h.Dir+"/")) || bytes.Contains(identity, trees) {
			roots = append(roots, root)
		}
	}
	return roots
}

// leftFiles lists what a generation may leave in the file system: sockets, its
// directory, the record of where it can be reached, mounts, and held locks.
func (h *Home) leftFiles() []string {
	var left []string
	filepath.WalkDir(filepath.Join(h.Runtime, "lazaret"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != filepath.Join(h.Runtime, "lazaret") {
			left = append(left, "runtime directory: "+path)
		}
		return nil
	})
	roots := h.domains()
	for _, root := range roots {
		generations, _ := filepath.Glob(filepath.Join(root, "gen", "*"))
		for _, g := range generations {
			left = append(left, "generation: "+g)
		}
		if _, err := os.Lstat(filepath.Join(root, "endpoint")); err == nil {
			left = append(left, "endpoint: "+root)
		}
		for _, name := range []string{"domain.lock", "start.lock"} {
			if locked(filepath.Join(root, name)) {
				left = append(left, "lock: "+filepath.Join(root, name))
			}
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		for _, place := range append(roots, h.Dir) {
			if strings.Contains(line, place) {
				left = append(left, "mount: "+strings.TrimSpace(line))
			}
		}
	}
	return left
}

// locked says whether somebody holds the lock file.
func locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}

// logs is the end of each coordinator's log, for a failing test.
func (h *Home) logs() string {
	var b strings.Builder
	for _, root := range h.domains() {
		path := filepath.Join(root, "log", "coordinator.log")
		text, _ := os.ReadFile(path)
		lines := strings.SplitAfter(string(text), "\n")
		b.WriteString(path + ":\n" + strings.Join(lines[max(0, len(lines)-25):], ""))
	}
	return b.String()
}

// removeTree removes dir, also where guests have left files of subordinate ids in
// it, which only a user namespace with those ids may remove.
func removeTree(tb testing.TB, dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	out, err := exec.Command("unshare", "--map-auto", "--map-root-user", "rm", "-rf", "--", dir).CombinedOutput()
	if err != nil {
		tb.Errorf("remove %s: %v: %s", dir, err, out)
	}
}
