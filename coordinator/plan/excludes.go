package plan

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

const (
	maxExcludes = 1 << 20
	maxIncludes = 10 // of configuration files in each other, as Git has it
)

// globalExcludes is the content of the developer's own ignore file (gitignore(5)): what
// core.excludesFile names, or the one Git reads by default. What it hides must not show
// because it could not be read, so that is an error.
func globalExcludes(environ []string) ([]byte, error) {
	home, base := lookup(environ, "HOME"), lookup(environ, "XDG_CONFIG_HOME")
	if base == "" && home != "" {
		base = filepath.Join(home, ".config")
	}
	e := excludes{home: home}
	if base != "" {
		e.path = filepath.Join(base, "git", "ignore")
	}
	for _, path := range []string{"/etc/gitconfig", under(base, "git", "config"), under(home, ".gitconfig")} {
		e.read(path, 0)
	}
	if e.path == "" {
		return nil, nil
	}
	data, err := readRegular(e.path, maxExcludes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &fault.Error{Kind: fault.Config, Message: "your own Git ignore file cannot be read", Err: err,
			Fix: "make it a readable file of at most 1 MiB, or change core.excludesFile"}
	}
	return data, nil
}

func under(base string, names ...string) string {
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, names...)...)
}

// excludes finds what core.excludesFile is set to last.
type excludes struct{ home, path string }

// read goes through one configuration file and those it always includes. Those it
// includes on a condition are not followed. A file that cannot be read says nothing: with
// it Git does not run at all.
func (e *excludes) read(path string, depth int) {
	if path == "" || depth > maxIncludes {
		return
	}
	data, err := readRegular(path, gitconfig.MaxFile)
	if err != nil {
		return
	}
	file, err := gitconfig.Parse(data)
	if err != nil {
		return
	}
	for v := range file.All() {
		switch {
		case v.Named:
		case v.Section == "core" && v.Key == "excludesfile":
			e.path = e.expand(v.Value, path)
		case v.Section == "include" && v.Key == "path":
			e.read(e.expand(v.Value, path), depth+1)
		}
	}
}

// expand makes a path of a configuration file absolute. One of another user's home is
// not followed.
func (e *excludes) expand(value, file string) string {
	switch rest, ok := strings.CutPrefix(value, "~/"); {
	case value == "" || ok && e.home == "":
		return ""
	case ok:
		return filepath.Join(e.home, rest)
	case filepath.IsAbs(value):
		return value
	case strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%"):
		return ""
	}
	return filepath.Join(filepath.Dir(file), value)
}
