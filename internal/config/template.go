package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	_ "embed"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/safefs"
)

// Template is the commented configuration file `lazaret init` writes. As it is, it
// changes nothing: a test compares it with the defaults.
//
//go:embed template.toml
var Template string

// UserFile returns where the user's configuration file belongs.
func UserFile(o Options) (string, error) {
	h := facts(o)
	if h.userFile == "" {
		return "", &fault.Error{Kind: fault.Config, Message: "no home directory is known", Fix: "set HOME or XDG_CONFIG_HOME"}
	}
	return h.userFile, nil
}

// WriteTemplate creates the user's configuration file at path and refuses to touch
// one that is there.
func WriteTemplate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &fault.Error{Kind: fault.Config, Message: "create the folder of " + printable(path), Err: err, Fix: "check who owns it"}
	}
	// Written whole beside it and then linked, which fails when the name is taken:
	// a full disk leaves no half file and nothing is ever overwritten.
	err := createPrivate(path, []byte(Template))
	if errors.Is(err, fs.ErrExist) {
		return &fault.Error{
			Kind: fault.Config, Message: fmt.Sprintf("%s exists and is left as it is", printable(path)),
			Fix: "read the template with `lazaret init --print`, or move the file away first",
		}
	}
	if err != nil {
		return &fault.Error{Kind: fault.Config, Message: "write " + printable(path), Err: err, Fix: "check the folder's owner and the free space"}
	}
	return nil
}

func createPrivate(path string, data []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	staged := path + ".new"
	if err := safefs.WritePrivate(staged, data); err != nil {
		return err
	}
	defer os.Remove(staged)
	return os.Link(staged, path)
}
