package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"lazaret.dev/lazaret/coordinator/hostgit"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

// Keeper is the work trees of one workspace. It is a value; its methods may overlap,
// between processes too.
type Keeper struct {
	DataRoot  string   // the Storage Root, canonical
	Workspace string   // canonical; the top of a git work tree
	Environ   []string // of the host
}

const hashDigits = 12

// Dir is where the work trees of the workspace are.
func (k Keeper) Dir() string {
	sum := sha256.Sum256([]byte(k.Workspace))
	return filepath.Join(k.DataRoot, config.WorktreesFolder, hex.EncodeToString(sum[:])[:hashDigits])
}

// Path is where the work tree called name is, or would be.
func (k Keeper) Path(name string) string { return filepath.Join(k.Dir(), name) }

// domainRoot is the Domain Root of a profile's Domain in the work tree called name.
func (k Keeper) domainRoot(profile, name string) string {
	id, _ := domain.Identify(profile, k.Path(name))
	return plan.DomainRoot(k.DataRoot, id)
}

// private makes Dir, and refuses one that is not the user's alone: a sandbox's workspace
// is inside.
func (k Keeper) private() error {
	dir := k.Dir()
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Lstat(dir); err == nil {
			st, ok := info.Sys().(*syscall.Stat_t)
			if !info.IsDir() || !ok || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
				err = fmt.Errorf("%q is not a directory of yours alone", dir)
			}
		}
	}
	if err != nil {
		return &fault.Error{Kind: fault.Workspace, Message: "the folder of worktrees cannot be used", Err: err,
			Fix: "look at " + dir + " and its owner and mode; storage.data_root says where it lies"}
	}
	return nil
}

// repository opens git in the workspace.
func (k Keeper) repository() (hostgit.Repo, error) {
	r, err := hostgit.Open(k.Workspace, k.Environ)
	if err == nil || fault.FixOf(err) != "" {
		return r, err
	}
	return r, &fault.Error{Kind: fault.Workspace, Message: fmt.Sprintf("no worktree can be made of %q", k.Workspace), Err: err,
		Fix: `start lazaret at the top of a git work tree of yours, or set git.mode = "shared" in the profile`}
}
