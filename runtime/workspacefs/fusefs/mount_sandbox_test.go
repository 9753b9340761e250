//go:build sandbox

package fusefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
)

// world is a mounted workspace and what is behind it.
type world struct {
	fs                    *fusefs.FS
	router                *fakeRouter
	host, held, transient string
	tree, git             string // mount points; git is empty until mountGit
}

// newWorld mounts a workspace until the test ends. change may alter its configuration.
func newWorld(tb testing.TB, change ...func(*fusefs.Config)) *world {
	tb.Helper()
	base := tb.TempDir()
	w := &world{router: &fakeRouter{}}
	for _, dir := range []struct {
		name string
		path *string
	}{{"host", &w.host}, {"held", &w.held}, {"transient", &w.transient}, {"tree", &w.tree}} {
		*dir.path = filepath.Join(base, dir.name)
		must(tb, os.Mkdir(*dir.path, 0o755))
	}
	config := fusefs.Config{Host: openDir(tb, w.host), Held: openDir(tb, w.held), Transient: openDir(tb, w.transient),
		Router: w.router}
	for _, f := range change {
		f(&config)
	}
	fs, err := fusefs.New(config)
	must(tb, err)
	w.fs = fs
	mount(tb, fs, fusefs.Tree, w.tree)
	return w
}

// mountGit mounts the git view.
func (w *world) mountGit(tb testing.TB) {
	tb.Helper()
	w.git = filepath.Join(filepath.Dir(w.tree), "git")
	must(tb, os.Mkdir(w.git, 0o755))
	mount(tb, w.fs, fusefs.Git, w.git)
}

func mount(tb testing.TB, fs *fusefs.FS, view fusefs.View, path string) {
	tb.Helper()
	dev, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	must(tb, err)
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other,max_read=1048576", dev.Fd())
	must(tb, unix.Mount("lazaret", path, "fuse.lazaret", unix.MS_NOSUID|unix.MS_NODEV, options))
	ended := make(chan error, 1)
	go func() { ended <- fs.Serve(dev, view) }()
	answerPoll(tb, path)
	tb.Cleanup(func() {
		// Detached, so that a file a failed test left open is no second failure.
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			tb.Errorf("unmount: %v", err)
		}
		if err := <-ended; err != nil {
			tb.Errorf("serve: %v", err)
		}
		dev.Close()
	})
}

func openDir(tb testing.TB, path string) *os.File {
	tb.Helper()
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	must(tb, err)
	tb.Cleanup(func() { f.Close() })
	return f
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// put writes a file of the host's, with its directories.
func put(tb testing.TB, path, content string) {
	tb.Helper()
	must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must(tb, os.WriteFile(path, []byte(content), 0o644))
}

// same fails unless the file at path has the content.
func same(tb testing.TB, path, content string) {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != content {
		tb.Errorf("%s: %q, %v; want %q", path, b, err, content)
	}
}

// answerPoll has the kernel learn that poll is not answered. Otherwise the Go
// runtime, which polls what it opens without leaving the processor to others, could
// wait for an answer from this very process.
func answerPoll(tb testing.TB, root string) {
	tb.Helper()
	fd, err := unix.Open(filepath.Join(root, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(tb, err)
	defer unix.Close(fd)
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	must(tb, err)
}
