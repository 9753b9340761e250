package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lazaret.dev/lazaret/coordinator/hostgit"
)

// snapshot compares a work tree with its HEAD by an index and an object directory of our
// own: the sandbox's index could call a changed file unchanged. Nothing is written into
// the repository.
type snapshot struct {
	repo    hostgit.Repo
	dir     string
	changed []string // paths changed, made or removed since HEAD, and not ignored
}

// look makes a snapshot of the work tree of repo against the commit head. The caller
// closes it.
func look(ctx context.Context, repo hostgit.Repo, head string) (s *snapshot, err error) {
	dir, err := os.MkdirTemp("", "lazaret-look-")
	if err != nil {
		return nil, err
	}
	s = &snapshot{dir: dir}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	objects := filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return nil, err
	}
	s.repo = repo.With("GIT_INDEX_FILE="+filepath.Join(dir, "index"), "GIT_OBJECT_DIRECTORY="+objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+strconv.Quote(filepath.Join(repo.Common, "objects")))
	if _, err := s.repo.Output(ctx, "read-tree", "-m", head); err != nil {
		return nil, err
	}
	// Status 1: something needs an update.
	if _, err := s.repo.Output(ctx, "update-index", "-q", "--refresh"); err != nil && hostgit.Status(err) != 1 {
		return nil, err
	}
	for _, args := range [][]string{
		{"diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=dirty"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		var out bytes.Buffer
		if err := s.repo.Run(ctx, nil, &out, args...); err != nil {
			return nil, err
		}
		s.changed = append(s.changed, split(out.String())...)
	}
	return s, s.forgive(ctx, repo)
}

// forgive takes out what is missing because the developer checks out only a part of the
// repository (git-sparse-checkout(1)). Which files those are, git notes in the index: so for
// such a repository the sandbox can pass off as left out what it has removed.
func (s *snapshot) forgive(ctx context.Context, repo hostgit.Repo) error {
	if on, err := repo.Output(ctx, "config", "--type=bool", "core.sparseCheckout"); err != nil || on != "true" {
		return nil
	}
	var out bytes.Buffer
	if err := repo.Run(ctx, nil, &out, "ls-files", "-z", "-v"); err != nil {
		return err
	}
	left := map[string]bool{}
	for _, line := range split(out.String()) {
		if path, ok := strings.CutPrefix(line, "S "); ok {
			left[path] = true
		}
	}
	s.changed = slices.DeleteFunc(s.changed, func(path string) bool {
		return left[path] && !exists(filepath.Join(repo.Tree, path))
	})
	return nil
}

// split cuts a list of git's that ends every item with a NUL.
func split(list string) []string {
	list = strings.TrimSuffix(list, "\x00")
	if list == "" {
		return nil
	}
	return strings.Split(list, "\x00")
}

// diff writes the difference between the commit base and the work tree as it is: what was
// committed and what was not.
func (s *snapshot) diff(ctx context.Context, base string, stat bool, out io.Writer) error {
	var list strings.Builder
	for _, path := range s.changed {
		if !strings.HasSuffix(path, "/") { // a repository inside, whose files are its own
			list.WriteString(path + "\x00")
		}
	}
	if err := s.repo.Run(ctx, []byte(list.String()), io.Discard, "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
		return err
	}
	form := "--patch"
	if stat {
		form = "--stat"
	}
	return s.repo.Run(ctx, nil, out, "diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short",
		"--ignore-submodules=dirty", form, base, "--")
}

// close removes what the snapshot needed. What cannot be removed is left to whoever clears
// the folder of temporary files.
func (s *snapshot) close() { os.RemoveAll(s.dir) }

// headOf is the commit that is checked out, or fallback when the sandbox left none; on says
// which branch it is, "" for none.
func headOf(ctx context.Context, repo hostgit.Repo, fallback string) (commit, on string, err error) {
	on, err = repo.Output(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && hostgit.Status(err) < 0 {
		return "", "", err
	}
	commit, err = repo.Output(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && hostgit.Status(err) < 0 {
		return "", "", err
	}
	if err != nil {
		commit = fallback
	}
	return commit, strings.TrimPrefix(on, "refs/heads/"), nil
}

// staged says whether the sandbox's own index holds what head does not have. One that git
// cannot read does.
func staged(ctx context.Context, repo hostgit.Repo, head string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(repo.GitDir, "index")); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	_, err := repo.Output(ctx, "diff-index", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=dirty", head, "--")
	if err != nil && hostgit.Status(err) < 0 {
		return false, err
	}
	return err != nil, nil
}
