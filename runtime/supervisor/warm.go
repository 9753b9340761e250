package supervisor

import (
	"io/fs"
	"os"
	"path"
	goruntime "runtime"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// The first look at a file through FUSE costs a request. Warming is one walk through the
// workspace ahead of the guest, so that its first `git status` finds names and
// attributes in the kernel, which keeps them until the daemon says that they changed.
const (
	maxWarmed     = 100_000 // names; each costs the daemon's memory too
	warmTime      = 20 * time.Second
	warmAtOnce    = 512 // names read before they are looked at
	leastPriority = 19
)

// warm walks. It gives way to everything else, and ends with the daemon.
func (w *workspace) warm() {
	goruntime.LockOSThread() // the thread ends with this function, and so does its priority
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, leastPriority)
	root, err := openPath(roomWorkspace)
	if err != nil {
		return
	}
	defer root.Close()
	queue, left, late := []string{"."}, maxWarmed, time.Now().Add(warmTime)
	for len(queue) > 0 && left > 0 && time.Now().Before(late) {
		select {
		case <-w.daemon.Done():
			return
		default:
		}
		var names int
		names, queue = warmDirectory(root, queue[0], queue[1:], left)
		left -= names
	}
	queue = nil
	proc.GiveBack() // this process idles for hours
}

// warmDirectory looks at what is in a directory of the workspace's own connection, at
// most limit names of it, and adds the directories below to queue.
func warmDirectory(root *os.File, name string, queue []string, limit int) (names int, _ []string) {
	fd, err := unix.Openat2(int(root.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return 1, queue // it is gone, or a mount that needs no warming
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	for names < limit {
		var entries []fs.DirEntry
		entries, err = dir.ReadDir(min(warmAtOnce, limit-names))
		for _, e := range entries {
			var st unix.Stat_t
			_ = unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) // looking is what counts
			if e.IsDir() && e.Name() != gitrules.Git {
				queue = append(queue, path.Join(name, e.Name()))
			}
		}
		names += len(entries)
		if err != nil || len(entries) == 0 {
			break
		}
	}
	return names, queue
}
