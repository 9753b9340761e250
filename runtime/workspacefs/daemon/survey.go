package daemon

import (
	"errors"
	"fmt"
	"io"
	"path"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/survey"
)

// surveyed is a tree as package survey looks at it.
type surveyed struct{ tree }

func (t surveyed) Lstat(name string) (survey.Entry, error) {
	f, err := t.open(name, unix.O_PATH)
	if err != nil {
		return survey.Entry{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return survey.Entry{}, fmt.Errorf("look at %q: %w", name, err)
	}
	return survey.Entry{Name: path.Base(name), Kind: kindOf(st.Mode), Links: uint64(st.Nlink)}, nil
}

func (t surveyed) ReadDir(name string, limit int) ([]survey.Entry, error) {
	f, err := t.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	entries := make([]survey.Entry, 0, len(names))
	for _, n := range names {
		entries = append(entries, survey.Entry{Name: n, Kind: t.look(path.Join(name, n))})
	}
	return entries, nil
}

func (t surveyed) ReadFile(name string, limit int64) ([]byte, error) { return t.read(name, limit) }

func (t surveyed) ReadLink(name string) (string, error) { return t.readLink(name) }
