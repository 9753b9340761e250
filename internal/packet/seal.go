package packet

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Seal returns an anonymous file with data that nobody can change any more
// (memfd_create(2)), at its beginning.
func Seal(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make anonymous file %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("write anonymous file %q: %w", name, err)
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal anonymous file %q: %w", name, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("rewind anonymous file %q: %w", name, err)
	}
	return f, nil
}

// Unseal reads a file Seal made whole, at most limit bytes long.
func Unseal(f *os.File, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read anonymous file: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read anonymous file: longer than %d bytes", limit)
	}
	return data, nil
}
