package hostgit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

// maxIncludes bounds how deep configuration files include each other, as git has it;
// maxFiles how many are read.
const (
	maxIncludes = 10
	maxFiles    = 256
)

// reader collects the variables of configuration files.
type reader struct {
	home string
	vars []gitconfig.Var
	left int
}

// settings returns every variable that git reads of p's repository or might read: with
// those of each linked work tree, and of what is included on whatever condition.
func (p Place) settings(home string) ([]gitconfig.Var, error) {
	r := reader{home: home, left: maxFiles}
	for _, path := range []string{
		filepath.Join(p.Common, "config"), filepath.Join(p.Common, "config.worktree"), filepath.Join(p.GitDir, "config.worktree"),
	} {
		if err := r.read(path, 0); err != nil {
			return nil, fmt.Errorf("the repository's configuration cannot be checked: %w", err)
		}
	}
	return r.vars, nil
}

// read takes the variables of one file and of those it includes. One that does not exist
// has none, as for git.
func (r *reader) read(path string, depth int) error {
	if r.left--; depth > maxIncludes || r.left < 0 {
		return errors.New("too many files include each other")
	}
	data, err := readRegular(path, gitconfig.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := gitconfig.Parse(data)
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	for v := range file.All() {
		r.vars = append(r.vars, v)
	}
	for _, include := range file.Includes() {
		next, err := r.expand(include.Path, path)
		if err == nil {
			err = r.read(next, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expand makes an included path absolute. Forms that need to know more than HOME are
// refused: what they name could not be checked.
func (r *reader) expand(value, file string) (string, error) {
	rest, below := strings.CutPrefix(value, "~/")
	switch {
	case below && r.home != "":
		return filepath.Join(r.home, rest), nil
	case value == "", strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%"):
		return "", fmt.Errorf("%q includes %q, which cannot be followed", file, value)
	}
	return absolute(value, filepath.Dir(file)), nil
}
