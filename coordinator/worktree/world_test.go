package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

// world is a repository with one commit and the keeper of its work trees.
type world struct {
	t         *testing.T
	dir, repo string
	keeper    worktree.Keeper

	mu      sync.Mutex
	notices []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, repo: filepath.Join(dir, "repo")}
	w.write(w.repo, "file", "one\n")
	w.write(w.repo, ".gitignore", "ignored\n")
	w.git(w.repo, "init", "-q", "-b", "main", ".")
	w.git(w.repo, "add", ".")
	w.git(w.repo, "commit", "-q", "-m", "first")
	w.keeper = worktree.Keeper{DataRoot: filepath.Join(dir, "data"), Workspace: w.repo, Environ: []string{"HOME=" + filepath.Join(dir, "home")}}
	return w
}

func (w *world) write(dir, at, text string) {
	w.t.Helper()
	path := filepath.Join(dir, at)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// git is the developer's git, or the sandbox's: its status must be 0.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, args...)
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return out
}

func (w *world) tryGit(dir string, args ...string) (string, error) {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.dir, "home"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) notice(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(text, "notice: ") {
		w.notices = append(w.notices, text)
	}
}

func (w *world) start(name string) *worktree.Lease {
	w.t.Helper()
	l, err := w.keeper.Start(w.t.Context(), "shell", name, w.notice)
	if err != nil {
		w.t.Fatalf("%v\n  fix: %s", err, fault.FixOf(err))
	}
	return l
}

func (w *world) settle(l *worktree.Lease) worktree.Outcome {
	w.t.Helper()
	out := l.Settle(w.t.Context())
	if out.Err != nil {
		w.t.Fatal(out.Err)
	}
	return out
}

// report is what the keeper says of one work tree.
func (w *world) report(name string) worktree.Report {
	w.t.Helper()
	r, err := w.keeper.Report(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// domainRoot makes the Domain Root of the work tree, as the coordinator would.
func (w *world) domainRoot(l *worktree.Lease) string {
	w.t.Helper()
	id, digest := domain.Identify(l.Profile, l.Path)
	dir, err := root.Open(plan.Plan{Domain: id, Digest: digest[:], Profile: l.Profile, Workspace: l.Path, DataRoot: w.keeper.DataRoot})
	if err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// leftovers is everything of work trees in the Storage Root and in the repository.
func (w *world) leftovers() []string {
	w.t.Helper()
	var out []string
	for _, pattern := range []string{filepath.Join(w.keeper.Dir(), "*"), filepath.Join(w.keeper.Dir(), ".*"), filepath.Join(w.repo, ".git/worktrees/*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range found {
			if filepath.Base(path) != "lock" {
				out = append(out, path)
			}
		}
	}
	if branches := w.git(w.repo, "branch", "--list", "lazaret/*"); branches != "" {
		out = append(out, branches)
	}
	return out
}

func refused(t *testing.T, err error, kind fault.Kind, part string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.FixOf(err) == "" || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v (kind %d, fix %q), want one of kind %d with %q", err, fault.KindOf(err), fault.FixOf(err), kind, part)
	}
}
