package hostgit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

// ErrNoRepository is a folder that is not the top of a git work tree.
var ErrNoRepository = errors.New("not the top of a git work tree")

// Place says where a work tree and its repository are (gitrepository-layout(5)). All
// paths are absolute.
type Place struct {
	Tree   string // the work tree
	GitDir string // what the work tree has of its own
	Common string // the repository; GitDir, but for a linked work tree
}

const maxPointer = 8 << 10

// Locate finds the repository of the work tree at tree, an absolute path, and runs nothing.
// Its error is ErrNoRepository when there is none; another when tree's pointer is not
// answered by one back, when a part is somebody else's, or cannot be read.
func Locate(tree string) (Place, error) {
	p := Place{Tree: tree, GitDir: filepath.Join(tree, ".git")}
	info, err := os.Lstat(p.GitDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Place{}, ErrNoRepository
	case err != nil:
		return Place{}, err
	case info.Mode().IsRegular():
		err = p.follow()
	case !info.IsDir():
		return Place{}, fmt.Errorf("%w: %q is neither a directory nor a file", ErrNoRepository, p.GitDir)
	default:
		p.Common = p.GitDir
		if _, lerr := os.Lstat(filepath.Join(p.GitDir, "commondir")); lerr == nil {
			err = fmt.Errorf("%q says that its repository is elsewhere", p.GitDir)
		}
	}
	if err != nil {
		return Place{}, err
	}
	for _, dir := range []string{p.GitDir, p.Common} {
		if err := ours(dir); err != nil {
			return Place{}, err
		}
	}
	return p, nil
}

// follow reads the pointer of a linked work tree or a submodule, and the one back.
func (p *Place) follow() error {
	pointer := p.GitDir
	var err error
	if p.GitDir, err = ReadPointer(pointer, "gitdir: "); err != nil {
		return err
	}
	p.Common, err = ReadPointer(filepath.Join(p.GitDir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		p.Common = p.GitDir
		return p.answeredByConfig()
	}
	if err != nil {
		return err
	}
	if filepath.Dir(p.GitDir) != filepath.Join(p.Common, "worktrees") {
		return fmt.Errorf("%q is no work tree's entry of %q", p.GitDir, p.Common)
	}
	back, err := ReadPointer(filepath.Join(p.GitDir, "gitdir"), "")
	if err != nil {
		return err
	}
	return same(back, pointer)
}

// answeredByConfig checks that a submodule's repository names the work tree.
func (p *Place) answeredByConfig() error {
	data, err := readRegular(filepath.Join(p.GitDir, "config"), gitconfig.MaxFile)
	if err != nil {
		return err
	}
	file, err := gitconfig.Parse(data)
	if err != nil {
		return err
	}
	values := file.Values("core", "", "worktree")
	if len(values) == 0 {
		return fmt.Errorf("%q does not say whose repository it is", p.GitDir)
	}
	return same(absolute(values[len(values)-1], p.GitDir), p.Tree)
}

// ReadPointer reads the path in a file of one line after prefix, as in a .git file
// ("gitdir: ") or a commondir (""), and makes it absolute. Its error is fs.ErrNotExist
// when there is no such file.
func ReadPointer(file, prefix string) (string, error) {
	data, err := readRegular(file, maxPointer)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || path == "" || strings.ContainsAny(path, "\x00\n") {
		return "", fmt.Errorf("%q is no pointer", file)
	}
	return absolute(path, filepath.Dir(file)), nil
}

func absolute(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

func same(back, want string) error {
	a, err := os.Stat(back)
	if err != nil {
		return err
	}
	b, err := os.Stat(want)
	if err != nil {
		return err
	}
	if !os.SameFile(a, b) {
		return fmt.Errorf("the repository belongs to %q, not to %q", back, want)
	}
	return nil
}

// ours refuses a directory that is a link or another user's: git itself would not trust
// the configuration in it (safe.directory in git-config(1)).
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%q is not a directory of yours", dir)
	}
	return nil
}

// readRegular reads a regular file of at most limit bytes, and waits for nobody.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%q is not a regular file of at most %d bytes", path, limit)
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if err != nil && n < len(data) {
		return nil, err
	}
	return data, nil
}
