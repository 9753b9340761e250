package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var errNotExecutable = fmt.Errorf("not an executable file: %w", fs.ErrPermission)

// lookPath finds a command as a shell does: a name with a slash is a path, any
// other is searched in path, where an empty entry is the current directory. Not
// finding one is fs.ErrNotExist; finding only what cannot be run, errNotExecutable.
func lookPath(name, path string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("command name is empty: %w", fs.ErrNotExist)
	}
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var unusable error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		candidate := dir + "/" + name
		err := executable(candidate)
		if err == nil {
			return candidate, nil
		}
		if errors.Is(err, errNotExecutable) {
			unusable = err
		}
	}
	if unusable != nil {
		return "", unusable
	}
	return "", fmt.Errorf("command not found: %w", fs.ErrNotExist)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%q: %w", path, errNotExecutable)
	}
	return nil
}
