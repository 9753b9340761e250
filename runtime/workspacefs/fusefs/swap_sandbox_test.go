//go:build sandbox

package fusefs_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// swapBudget is how often the guest's side acts while the host's side swaps.
const swapBudget = 1500

// A directory in the middle becomes a link to a place outside and back, again and
// again, by the host's doing. Nothing inside may read, change or make anything there.
func TestSwappedDirectories(t *testing.T) {
	w := newWorld(t)
	outside := t.TempDir()
	const canary = "canary of the outside"
	put(t, outside+"/deep/file", canary)
	put(t, outside+"/deep/outside.only", canary)
	put(t, w.host+"/mid/deep/file", "inside")
	must(t, unix.Chmod(outside+"/deep/file", 0o604))

	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() { swap(t, w.host, outside, stop) })
	acts := w.acts(t, canary)
	for done, tries := 0, 0; done < swapBudget; tries++ {
		if inDirectory(w.tree, "mid/deep", acts[done%len(acts)]) {
			done++
		}
		if tries%7 == 0 {
			w.fs.EntryChanged("", "mid")
		}
	}
	close(stop)
	swapping.Wait()

	same(t, outside+"/deep/file", canary)
	if got := names(t, outside+"/deep"); strings.Join(got, " ") != "file outside.only" {
		t.Errorf("made outside: %q", got)
	}
	if got := names(t, outside); len(got) != 1 {
		t.Errorf("made outside: %q", got)
	}
	info, err := os.Stat(outside + "/deep/file")
	must(t, err)
	if info.Mode() != 0o604 {
		t.Errorf("mode outside: %v", info.Mode())
	}
}

// inDirectory calls act some times with a path of the directory, unless a link leads
// there: this test's own kernel would follow that one, as the sandbox's does not.
func inDirectory(tree, path string, act func(dir string)) bool {
	root, err := unix.Open(tree, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	for range 5 {
		act(fmt.Sprintf("/proc/self/fd/%d", fd))
	}
	return true
}

func swap(t *testing.T, dir, outside string, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		for _, err := range []error{
			unix.Rename(dir+"/mid", dir+"/real"),
			unix.Symlink(outside, dir+"/mid"),
			unix.Unlink(dir + "/mid"),
			unix.Rename(dir+"/real", dir+"/mid"),
		} {
			if err != nil {
				t.Errorf("swap: %v", err)
				return
			}
		}
	}
}

// acts are what the guest's side does in a directory. Most fail now and then.
func (w *world) acts(t *testing.T, canary string) []func(dir string) {
	buf := make([]byte, 100)
	return []func(dir string){
		func(dir string) {
			if b, _ := os.ReadFile(dir + "/file"); strings.Contains(string(b), "canary") {
				t.Errorf("read %q", b)
			}
		},
		func(dir string) {
			if f, err := os.OpenFile(dir+"/file", os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString("inside")
				f.Close()
			}
		},
		func(dir string) { _ = unix.Rename(dir+"/file", dir+"/file2") },
		func(dir string) { _ = unix.Rename(dir+"/file2", dir+"/file") },
		func(dir string) { _ = unix.Chmod(dir+"/file", 0o644) },
		func(dir string) { _ = unix.Mkdir(dir+"/made", 0o755) },
		func(dir string) { _ = unix.Symlink("x", dir+"/made.link") },
		func(dir string) { _ = os.WriteFile(dir+"/made.file", []byte("x"), 0o644) },
		func(dir string) { _ = os.WriteFile(dir+"/held.file", []byte("x"), 0o644) },
		func(dir string) { _ = unix.Truncate(dir+"/file", 3) },
		func(dir string) { _ = unix.Link(dir+"/file", dir+"/made.name") },
		func(dir string) {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if e.Name() == "outside.only" {
					t.Error("listed the outside")
				}
			}
		},
		func(dir string) {
			if n, err := unix.Getxattr(dir+"/file", "user.x", buf); err == nil {
				t.Errorf("attribute %q", buf[:n])
			}
		},
		func(dir string) { _ = os.Remove(dir + "/made"); _ = os.Remove(dir + "/made.link") },
		func(dir string) { _ = os.Remove(dir + "/made.name"); _ = os.Remove(dir + "/outside.only") },
	}
}
