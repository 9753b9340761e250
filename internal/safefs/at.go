package safefs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is what stands at a name and is no regular file, or has names
// elsewhere.
var ErrNotRegular = errors.New("not a regular file of its own")

// ErrTooLarge is a file above the limit its reader gave.
var ErrTooLarge = errors.New("file is too large")

// Durability says whether a written file survives the loss of power.
type Durability bool

// The two durabilities.
const (
	Durable Durability = true
	Cached  Durability = false // survives the death of every process, and no more
)

// ReadAt reads the regular file name in dir, at most limit bytes long. It follows
// no link, waits for nobody at a FIFO, and refuses a file with a second name, which
// may be anywhere. Errors: fs.ErrNotExist, ErrNotRegular, ErrTooLarge.
func ReadAt(dir *os.File, name string, limit int64) ([]byte, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("read %q: %w", name, ErrNotRegular)
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
		return nil, fmt.Errorf("read %q: %w", name, ErrNotRegular)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %q: %w (limit %d bytes)", name, ErrTooLarge, limit)
	}
	return data, nil
}

// ReplaceAt replaces name in dir by data with mode 0600, whole or not at all. What
// stands at name is not followed.
func ReplaceAt(dir *os.File, name string, data []byte, d Durability) (err error) {
	if err := plainName(name); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("replace %q: %w", name, err)
		}
	}()
	temporary := ".new-" + randomName()
	fd, err := unix.Openat(int(dir.Fd()), temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temporary)
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(int(dir.Fd()), temporary, 0) // what failed is the news
		}
	}()
	_, err = f.Write(data)
	if err == nil && d == Durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := unix.Renameat(int(dir.Fd()), temporary, int(dir.Fd()), name); err != nil {
		return err
	}
	if d == Durable {
		return dir.Sync()
	}
	return nil
}

// plainName keeps a name from being a path.
func plainName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not the name of a file", name)
	}
	return nil
}

func randomName() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails: crypto/rand panics rather than return weak bytes
	return hex.EncodeToString(b)
}
