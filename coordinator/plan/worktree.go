package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"lazaret.dev/lazaret/coordinator/hostgit"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

// gitDirs are the directories outside the workspace that hold its repository, where
// the workspace's .git is a pointer, as in a linked worktree (gitrepository-layout(5)).
// The pointer is a file of the workspace, so it decides nothing by itself: the
// directory must be the developer's own and name the workspace as its worktree.
func gitDirs(workspace string) ([]string, error) {
	pointer := filepath.Join(workspace, ".git")
	info, err := os.Lstat(pointer)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	admin, err := hostgit.ReadPointer(pointer, "gitdir: ")
	if err != nil {
		return nil, nil // Git makes nothing of it either
	}
	if _, err := os.Stat(admin); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the worktree was moved, or the repository is gone; Git says so inside
	}
	dir, err := commonDir(admin)
	if err == nil {
		err = vouch(dir, admin, workspace)
	}
	if err != nil {
		return nil, &fault.Error{Kind: fault.Config,
			Message: fmt.Sprintf("the repository of this workspace lies in %q, which cannot be shown to the sandbox", admin), Err: err,
			Fix: "run `git worktree repair` in the repository, or start Lazaret in its main worktree"}
	}
	if dir == workspace || strings.HasPrefix(dir, workspace+"/") {
		return nil, nil // inside already
	}
	return []string{dir}, nil
}

// commonDir is the repository that the administrative directory belongs to.
func commonDir(admin string) (string, error) {
	dir, err := hostgit.ReadPointer(filepath.Join(admin, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return admin, nil
	}
	return dir, err
}

// vouch checks that dir is a repository of the caller's, is named by its one path, and
// knows the workspace.
func vouch(dir, admin, workspace string) error {
	for _, path := range []string{dir, admin} {
		if real, err := filepath.EvalSymlinks(path); err != nil || real != path {
			return fmt.Errorf("%q leads through a symbolic link", path)
		}
	}
	if admin != dir && !strings.HasPrefix(admin, dir+"/") {
		return fmt.Errorf("%q is not inside %q", admin, dir)
	}
	if strings.HasPrefix(workspace+"/", dir+"/") {
		return errors.New("the workspace is inside it")
	}
	for _, never := range []string{"/proc", "/sys", "/dev", "/run", WorkspaceGuest} {
		if strings.HasPrefix(dir+"/", never+"/") {
			return fmt.Errorf("%s means something else inside", never)
		}
	}
	for _, name := range []string{"", "HEAD", "objects", "refs"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() || info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%q is not yours, or a link", filepath.Join(dir, name))
		}
	}
	return knows(dir, admin, workspace)
}

// knows checks that the repository names the workspace: a linked worktree's
// administrative directory by its gitdir, a submodule's by core.worktree.
func knows(dir, admin, workspace string) error {
	if admin != dir {
		back, err := hostgit.ReadPointer(filepath.Join(admin, "gitdir"), "")
		if err != nil {
			return err
		}
		return sameFile(back, filepath.Join(workspace, ".git"))
	}
	data, err := readRegular(filepath.Join(dir, "config"), gitconfig.MaxFile)
	if err != nil {
		return err
	}
	file, err := gitconfig.Parse(data)
	if err != nil {
		return err
	}
	values := file.Values("core", "", "worktree")
	if len(values) == 0 {
		return errors.New("it does not say whose repository it is")
	}
	back := values[len(values)-1]
	if !filepath.IsAbs(back) {
		back = filepath.Join(dir, back)
	}
	return sameFile(back, workspace)
}

func sameFile(back, want string) error {
	a, err := os.Stat(back)
	if err != nil {
		return err
	}
	b, err := os.Stat(want)
	if err != nil {
		return err
	}
	if !os.SameFile(a, b) {
		return fmt.Errorf("it belongs to %q", back)
	}
	return nil
}
