package policy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate"
)

// MaxCopy is the largest file a plan copies or hashes, in bytes.
const MaxCopy = 32 << 20

type keeping bool

const (
	keepCopy keeping = true
	hashOnly keeping = false
)

// capture hashes the file real, which lies in root, and copies it into sealed
// memory when asked to. The sandbox can write the file all the while: the digest
// is of the bytes copied, in the same pass.
func capture(root, real string, keep keeping) (escalate.File, *os.File, error) {
	src, err := openResident(root, real)
	if err != nil {
		return escalate.File{}, nil, err
	}
	defer src.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(src.Fd()), &st); err != nil {
		return escalate.File{}, nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return escalate.File{}, nil, errors.New("not a regular file")
	case bool(keep) && st.Mode&0o111 == 0:
		return escalate.File{}, nil, errors.New("not executable")
	case st.Size > MaxCopy:
		return escalate.File{}, nil, fmt.Errorf("too large to be copied for a safe run: %d bytes, at most %d", st.Size, MaxCopy)
	}
	hash := sha256.New()
	var sink io.Writer = hash
	var copied *os.File
	if keep {
		if copied, err = newMemory(real); err != nil {
			return escalate.File{}, nil, err
		}
		sink = io.MultiWriter(hash, copied)
	}
	n, err := io.Copy(sink, io.LimitReader(src, MaxCopy+1))
	if err == nil && n > MaxCopy {
		err = errors.New("it grew while it was read")
	}
	if err == nil && copied != nil {
		err = sealMemory(copied)
	}
	if err != nil {
		if copied != nil {
			copied.Close()
		}
		return escalate.File{}, nil, err
	}
	return escalate.File{Path: real, SHA256: hash.Sum(nil), Size: n, Copied: bool(keep)}, copied, nil
}

// openResident opens real, a path without links inside root. A link that appeared
// meanwhile is not followed, and a FIFO is not waited for.
func openResident(root, real string) (*os.File, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), root)
	defer dir.Close()
	rel := strings.TrimPrefix(strings.TrimPrefix(real, strings.TrimSuffix(root, "/")), "/")
	if rel == "" {
		return nil, errors.New("not a regular file")
	}
	fd, err = openBeneath(dir, rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), real), nil
}

// newMemory makes an anonymous file that can be executed and sealed.
func newMemory(name string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("approved", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3: all of them can be executed
		fd, err = unix.MemfdCreate("approved", flags)
	}
	if err != nil {
		return nil, fmt.Errorf("make a copy of %s (is vm.memfd_noexec set to 2?): %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func sealMemory(f *os.File) error {
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if err := f.Chmod(0o500); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("seal a copy: %w", err)
	}
	return nil
}
