package mailbox

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// resultMode lets every user inside read results.
const resultMode = 0o444

// Owner is a host user results are written as.
type Owner struct{ UID, GID int }

// Outbox writes the results directory. Its methods may overlap for different
// requests, not for one.
type Outbox struct {
	// Dir is the directory; it stays the caller's.
	Dir *os.File
	// WriteAs, when set, owns what is written. A tmpfs of another user namespace
	// refuses files of owners that namespace does not map (EOVERFLOW), and as
	// root our own id is not mapped there.
	WriteAs *Owner
}

// Put makes data appear as name, complete or not at all. id is the request it
// belongs to.
func (o *Outbox) Put(id domain.RequestID, name string, data []byte) error {
	temporary := wire.TemporaryName(id)
	err := o.as(func() error {
		fd, err := unix.Openat(int(o.Dir.Fd()), temporary,
			unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, resultMode)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), temporary)
		_, err = f.Write(data)
		// The umask is the process's; the mode must be ours.
		err = errors.Join(err, f.Chmod(resultMode), f.Close())
		if err != nil {
			return err
		}
		return unix.Renameat(int(o.Dir.Fd()), temporary, int(o.Dir.Fd()), name)
	})
	if err != nil {
		o.Remove(temporary)
		return fmt.Errorf("write result %q: %w", name, err)
	}
	return nil
}

// Remove removes a result; one that is gone already is fine.
func (o *Outbox) Remove(name string) { _ = unix.Unlinkat(int(o.Dir.Fd()), name, 0) }

// as runs f with the file-system ids of WriteAs, which belong to a thread.
func (o *Outbox) as(f func() error) error {
	if o.WriteAs == nil {
		return f()
	}
	goruntime.LockOSThread()
	uid, _ := unix.SetfsuidRetUid(o.WriteAs.UID)
	gid, _ := unix.SetfsgidRetGid(o.WriteAs.GID)
	// Neither call reports a failure: a second one tells whether the first took.
	err := error(unix.EPERM)
	if set(o.WriteAs.UID, o.WriteAs.GID) {
		err = f()
	}
	_, _ = unix.SetfsuidRetUid(uid)
	_, _ = unix.SetfsgidRetGid(gid)
	if set(uid, gid) {
		goruntime.UnlockOSThread()
	}
	// Otherwise the goroutine keeps the thread, which ends with it: no other
	// goroutine may ever run with these ids.
	return err
}

// set sets both ids again and reports whether they were set already.
func set(uid, gid int) bool {
	nowUID, err1 := unix.SetfsuidRetUid(uid)
	nowGID, err2 := unix.SetfsgidRetGid(gid)
	return err1 == nil && err2 == nil && nowUID == uid && nowGID == gid
}
