package survey

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// maxPointer bounds the file that points to a git directory, in bytes.
const maxPointer = 64 << 10

// Facts are what is known of a workspace's repository.
type Facts struct {
	// GitDir is where it is in the workspace; "" when there is none, or outside.
	GitDir string
	// Outside is what the pointer says when it leads out of the workspace: an absolute
	// path, or one relative to the workspace.
	Outside string
	// Runs are paths in the workspace that hooks of the repository are links to.
	Runs []string
}

// Workspace looks at the repository at the top of a workspace. Errors are
// fault.Workspace, or what reading gave.
func Workspace(host Host) (Facts, error) {
	entry, err := lstat(host, gitrules.Git)
	if err != nil {
		return Facts{}, err
	}
	facts := Facts{}
	switch entry.Kind {
	case route.None:
		return facts, nil
	case route.Dir:
		facts.GitDir = gitrules.Git
	case route.File:
		if facts.GitDir, facts.Outside, err = pointer(host); err != nil || facts.GitDir == "" {
			return facts, err
		}
	default:
		return Facts{}, refuse(gitrules.Git, "is "+kindName(entry.Kind), "put the git directory itself there, or a file that says gitdir: PATH")
	}
	facts.Runs, err = GitDir(host, facts.GitDir)
	return facts, err
}

// pointer reads where the file .git says that the git directory is.
func pointer(host Host) (inside, outside string, err error) {
	content, err := host.ReadFile(gitrules.Git, maxPointer)
	if err != nil {
		return "", "", err
	}
	target, ok := strings.CutPrefix(string(content), "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	switch clean := path.Clean(target); {
	case !ok || target == "" || strings.ContainsRune(target, 0):
		return "", "", refuse(gitrules.Git, "is a file that does not say where the git directory is", "check with: git status")
	case path.IsAbs(clean), clean == "..", strings.HasPrefix(clean, "../"):
		return "", clean, nil
	default:
		return clean, "", plain(host, clean)
	}
}

// plain refuses a path with a link on the way.
func plain(host Host, name string) error {
	for at := name; at != "."; at = path.Dir(at) {
		entry, err := lstat(host, at)
		if err != nil {
			return err
		}
		if entry.Kind != route.Dir && entry.Kind != route.None {
			return refuse(at, "is "+kindName(entry.Kind)+", on the way to the git directory", "put a directory there")
		}
	}
	return nil
}

// lstat is Host.Lstat with nothing for fs.ErrNotExist.
func lstat(host Host, name string) (Entry, error) {
	entry, err := host.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, nil
	}
	return entry, err
}

func refuse(name, what, fix string) error {
	return &fault.Error{Kind: fault.Workspace, Message: "the workspace cannot be shared: " + quote(name) + " " + what, Fix: fix}
}

func kindName(kind route.Kind) string {
	switch kind {
	case route.File:
		return "a file"
	case route.Dir:
		return "a directory"
	case route.Symlink:
		return "a symbolic link"
	}
	return "a special file"
}
