package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// MaxBytes bounds a login file; real ones have one to eight KiB.
const MaxBytes = 64 << 10

// What a copy can be refused for. Neither copy is changed then.
var (
	ErrTooLarge   = fmt.Errorf("login is larger than %d KiB", MaxBytes>>10)
	ErrMalformed  = errors.New("login is not what its name says")
	ErrNotPrivate = errors.New("login is not a regular file of yours with mode 0600")
)

// vet checks the form of a login: it keeps a half-written file of an agent that
// writes in place, and anything that is no login, from replacing a good one.
func vet(name string, data []byte) error {
	if len(data) > MaxBytes {
		return ErrTooLarge
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("%w: it is not text", ErrMalformed)
	}
	if !strings.HasSuffix(name, ".json") {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return fmt.Errorf("%w: it is not one JSON object", ErrMalformed)
	}
	return nil
}

// readHost returns the content of a private file of ours, nil when there is none.
func readHost(path string) ([]byte, error) {
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%q: %w", path, ErrNotPrivate)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%q: %w", path, ErrNotPrivate)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(data) > MaxBytes {
		err = fmt.Errorf("%q: %w", path, ErrTooLarge)
	}
	return data, err
}

func readRecord(path string) (string, error) {
	data, err := readHost(path)
	return strings.TrimSpace(string(data)), err
}
