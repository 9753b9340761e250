package mailbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// resultMode lets every user inside read results.
const resultMode = 0o444

// Outbox writes the results directory. Its methods may overlap for different
// requests, not for one.
type Outbox struct {
	// Dir is the directory; it stays the caller's.
	Dir *os.File
}

// Put makes data appear as name, complete or not at all. id is the request it
// belongs to.
func (o *Outbox) Put(id domain.RequestID, name string, data []byte) error {
	temporary := wire.TemporaryName(id)
	if err := o.write(temporary, name, data); err != nil {
		o.Remove(temporary)
		return fmt.Errorf("write result %q: %w", name, err)
	}
	return nil
}

func (o *Outbox) write(temporary, name string, data []byte) error {
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
}

// Remove removes a result; one that is gone already is fine.
func (o *Outbox) Remove(name string) { _ = unix.Unlinkat(int(o.Dir.Fd()), name, 0) }
