//go:build sandbox

package supervisor_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/supervisor"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// git runs the host's git in dir.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=host", "GIT_AUTHOR_EMAIL=h@h", "GIT_COMMITTER_NAME=host", "GIT_COMMITTER_EMAIL=h@h"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// identity makes commits possible inside.
var identity = []string{"GIT_AUTHOR_NAME=guest", "GIT_AUTHOR_EMAIL=g@g", "GIT_COMMITTER_NAME=guest", "GIT_COMMITTER_EMAIL=g@g"}

// newRepository is newSpec with a git repository of one commit as the workspace.
func newRepository(tb testing.TB) runtime.Spec {
	tb.Helper()
	spec := newSpec(tb)
	spec.Env = append(spec.Env, identity...)
	git(tb, spec.Workspace, "init", "-q", "-b", "main")
	writeHost(tb, spec.Workspace+"/file", "one\n")
	writeHost(tb, spec.Workspace+"/.gitignore", "node_modules\n")
	git(tb, spec.Workspace, "add", ".")
	git(tb, spec.Workspace, "commit", "-qm", "first")
	return spec
}

func writeHost(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func readHost(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// listing is every path below dir with its kind, mode and size, but for git's objects
// and logs.
func listing(tb testing.TB, dir string) (list []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0
		}
		list = append(list, strings.TrimPrefix(path, dir)+" "+info.Mode().String()+" "+itoa(int(size)))
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func TestCommitsMadeInsideAreSeenOutside(t *testing.T) {
	spec := newRepository(t)
	s := start(t, spec)
	if got := sh(t, s, "git status --porcelain"); got.code != 0 || got.stdout != "" {
		t.Fatalf("status: %+v", got)
	}
	if got := sh(t, s, "echo two >> file && echo new > new && git add . && git commit -qm second && git checkout -qb side && git stash list"); got.code != 0 {
		t.Fatalf("commit: %+v", got)
	}
	if log := git(t, spec.Workspace, "log", "--format=%an %s", "side"); log != "guest second\nhost first\n" {
		t.Errorf("the host's log: %q", log)
	}
	if status := git(t, spec.Workspace, "status", "--porcelain"); status != "" {
		t.Errorf("the host's status: %q", status)
	}
}

// Everything the host's git obeys stays as it is, whichever way the guest goes about it.
func TestGitIsProtected(t *testing.T) {
	spec := newRepository(t)
	writeHost(t, spec.Workspace+"/.git/hooks/pre-commit.sample", "#!/bin/sh\n")
	config := readHost(t, spec.Workspace+"/.git/config")
	before := listing(t, spec.Workspace+"/.git/hooks")
	s := start(t, spec)
	exchange := `import ctypes; libc=ctypes.CDLL(None, use_errno=True); import sys; sys.exit(libc.renameat2(-100, b".git/x", -100, b".git/config", 2) != 0)`
	for what, script := range map[string]string{
		"appending":            "echo x >> .git/config",
		"writing":              "echo x > .git/config",
		"removing":             "rm -f .git/config && ! test -e .git/config",
		"moving the directory": "mv .git .git2",
		"G06 copying it":       "mv .git g && cp -r g .git",
		"G07 renaming onto it": "echo x > x && mv -f x .git/config",
		"G07 linking onto it":  "echo x > .git/x && ln -f .git/x .git/config",
		"G07 exchanging":       "echo x > .git/x && python3 -c '" + exchange + "'",
		"G07 onto a hook":      "echo x > x && mv -f x .git/hooks/pre-commit",
		"making a hook":        "echo '#!/bin/sh' > .git/hooks/pre-commit",
		"replacing the hooks":  "mv .git/hooks .git/h",
		"commondir":            "echo .. > .git/commondir",
		"alternates":           "echo /x > .git/objects/info/alternates",
		"attributes":           "echo '* filter=x' > .git/info/attributes",
		"git config":           "git config core.fsmonitor x",
		"unmounting":           "umount .git",
	} {
		if got := sh(t, s, script); got.code == 0 {
			t.Errorf("%s: the guest succeeded", what)
		}
	}
	sh(t, s, "chmod 777 .git/config; truncate -s 0 .git/config") // gVisor may call it a success
	if got := readHost(t, spec.Workspace+"/.git/config"); got != config {
		t.Errorf("the configuration became %q", got)
	}
	if info := must(os.Stat(spec.Workspace + "/.git/config")); info.Mode().Perm() != 0o644 {
		t.Errorf("its mode became %v", info.Mode())
	}
	if after := listing(t, spec.Workspace+"/.git/hooks"); !slices.Equal(after, before) {
		t.Errorf("the hooks became %q", after)
	}
	for _, name := range []string{"commondir", "objects/info/alternates", "info/attributes"} {
		if _, err := os.Lstat(spec.Workspace + "/.git/" + name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if got := sh(t, s, "cat .git/config && git status"); got.code != 0 || !strings.HasPrefix(got.stdout, config) {
		t.Errorf("reading was refused: %+v", got)
	}
}

// A repository in the workspace is shown through the connection that answers opens as
// soon as it is looked at.
func TestNestedRepositoriesAreProtected(t *testing.T) {
	spec := newRepository(t)
	git(t, spec.Workspace, "init", "-q", "a/sub")
	config := readHost(t, spec.Workspace+"/a/sub/.git/config")
	s := start(t, spec)
	sandboxtest.Await(t, 10*time.Second, "a truncation to be refused", func() bool {
		return sh(t, s, "ls a/sub >/dev/null; python3 -c 'open(\"a/sub/.git/config\", \"r+\")'").code != 0
	})
	if got := sh(t, s, "cd a/sub && echo x > x && git add x && git commit -qm nested && mv .git g"); got.code == 0 || !strings.Contains(got.stderr, "busy") {
		t.Errorf("%+v", got)
	}
	if log := git(t, spec.Workspace+"/a/sub", "log", "--format=%s"); log != "nested\n" {
		t.Errorf("the host's log: %q", log)
	}
	if got := sh(t, s, "mv a b"); got.code == 0 {
		t.Error("a directory above a git directory was renamed")
	}
	if got := readHost(t, spec.Workspace+"/a/sub/.git/config"); got != config {
		t.Errorf("the configuration became %q", got)
	}
}

// What the host's configuration includes or runs is as protected as itself, also when the
// host begins to while the sandbox runs; other names of such files are read-only (G16).
func TestWhatTheConfigurationNamesIsProtected(t *testing.T) {
	spec := newRepository(t)
	for _, name := range []string{"build/gitconfig", "hooks/pre-commit", "later"} {
		writeHost(t, spec.Workspace+"/"+name, "[x]\n")
	}
	git(t, spec.Workspace, "config", "include.path", "../build/gitconfig")
	git(t, spec.Workspace, "config", "core.hooksPath", "hooks")
	git(t, spec.Workspace, "add", ".")
	if err := os.Link(spec.Workspace+"/.git/config", spec.Workspace+"/other-name"); err == nil {
		t.Cleanup(func() { os.Remove(spec.Workspace + "/other-name") })
	}
	if _, err := supervisor.NewLauncher().Launch(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), "hard link") {
		t.Errorf("G16: a second name of the configuration: %v", err)
	}
	if err := os.Remove(spec.Workspace + "/other-name"); err != nil {
		t.Fatal(err)
	}
	s := start(t, spec)
	for _, script := range []string{"echo x >> build/gitconfig", "echo x > hooks/pre-commit", "echo x > hooks/post-commit", "mv build b", "mv hooks h", "rm -rf hooks"} {
		if got := sh(t, s, script); got.code == 0 && readHost(t, spec.Workspace+"/build/gitconfig")+readHost(t, spec.Workspace+"/hooks/pre-commit") != "[x]\n[x]\n" {
			t.Errorf("the guest succeeded with %q", script)
		}
	}
	if got := sh(t, s, "echo x >> later"); got.code != 0 {
		t.Errorf("harmless work was refused: %+v", got)
	}
	git(t, spec.Workspace, "config", "--add", "include.path", "../later")
	sandboxtest.Await(t, 10*time.Second, "the new include to be protected", func() bool {
		return sh(t, s, "mv later elsewhere && mv elsewhere later").code != 0
	})
}

// G08: the host replaces its configuration while the sandbox runs.
func TestHostConfigurationStaysProtectedWhenReplaced(t *testing.T) {
	spec := newRepository(t)
	s := start(t, spec)
	sh(t, s, "cat .git/config")
	git(t, spec.Workspace, "config", "a.b", "later")
	sandboxtest.Await(t, 10*time.Second, "the guest to see the host's new configuration", func() bool {
		return sh(t, s, "git config a.b").stdout == "later\n"
	})
	if got := sh(t, s, "echo x >> .git/config"); got.code == 0 {
		t.Error("the guest wrote the host's configuration")
	}
	if got := git(t, spec.Workspace, "config", "a.b"); got != "later\n" {
		t.Errorf("%q", got)
	}
}

func TestHostChangesAreSeenInside(t *testing.T) {
	spec := newRepository(t)
	s := start(t, spec)
	if got := sh(t, s, "cat file; ls; cat later 2>/dev/null"); !strings.HasPrefix(got.stdout, "one\n") {
		t.Fatalf("%+v", got)
	}
	writeHost(t, spec.Workspace+"/later", "made\n")
	writeHost(t, spec.Workspace+"/file.new", "replaced\n")
	if err := os.Rename(spec.Workspace+"/file.new", spec.Workspace+"/file"); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Await(t, 10*time.Second, "the guest to see what the host did", func() bool {
		return sh(t, s, "cat file later").stdout == "replaced\nmade\n"
	})
	if err := os.Remove(spec.Workspace + "/later"); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Await(t, 10*time.Second, "the guest to miss what the host removed", func() bool {
		return sh(t, s, "test ! -e later").code == 0
	})
}

func TestIgnoredPathsAreTheDomainsOwn(t *testing.T) {
	spec := newRepository(t)
	writeHost(t, spec.Workspace+"/sub/node_modules/host", "the host's")
	s := start(t, spec)
	if got := sh(t, s, "test ! -e sub/node_modules && mkdir node_modules && cd node_modules && echo kept > kept && mkdir d && pwd -P && cat kept"); got.code != 0 || got.stdout != "/workspace/node_modules\nkept\n" {
		t.Fatalf("first generation: %+v", got)
	}
	awaitRealMount(t)
	// The shell that was inside before the mount, and whoever comes later, are at one place.
	if got := sh(t, s, "cat node_modules/kept && echo more > node_modules/more && rm -rf node_modules/d && ls node_modules"); got.stdout != "kept\nkept\nmore\n" {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(spec.Workspace + "/node_modules"); err == nil {
		t.Error("an ignored directory reached the host")
	}
	stop(t, s)

	spec.Generation = domain.NewGeneration()
	s = start(t, spec)
	if got := sh(t, s, "cat node_modules/kept node_modules/more"); got.stdout != "kept\nmore\n" {
		t.Errorf("second generation: %+v", got)
	}
	awaitRealMount(t)
	if got := sh(t, s, "rm -rf node_modules && test ! -e node_modules && mkdir node_modules && ls node_modules && echo again > node_modules/x && cat node_modules/x"); got.code != 0 || got.stdout != "again\n" {
		t.Errorf("removing it: %+v", got)
	}
	if got := readHost(t, spec.Workspace+"/sub/node_modules/host"); got != "the host's" {
		t.Errorf("the host's own became %q", got)
	}
}

// awaitRealMount waits until node_modules is Domain storage itself and not the file
// system's, for the supervisor and for the sandbox.
func awaitRealMount(t *testing.T) {
	t.Helper()
	family := descendants(os.Getpid())
	for _, who := range []string{"supervisor", "gofer"} {
		k := find(t, family, who)
		sandboxtest.Await(t, 10*time.Second, "a mount of Domain storage for the "+who, func() bool {
			b, err := os.ReadFile("/proc/" + itoa(k.pid) + "/mountinfo")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				fields := strings.Fields(line)
				if len(fields) > 6 && strings.HasSuffix(fields[4], "/workspace/node_modules") && !strings.Contains(line, " - fuse") {
					return true
				}
			}
			return false
		})
	}
}

func TestSettingsSecretsAndMasksAreHidden(t *testing.T) {
	spec := newRepository(t)
	spec.Policy.Masks, spec.Policy.Secrets = []string{".vscode"}, []string{".env"}
	for name, text := range map[string]string{"lazaret.toml": "# narrow", ".env": "TOKEN=secret", ".vscode/tasks.json": "{}", "sub/.env": "x"} {
		writeHost(t, spec.Workspace+"/"+name, text)
	}
	before := listing(t, spec.Workspace)
	s := start(t, spec)
	if got := sh(t, s, "ls -A; cat lazaret.toml .vscode/tasks.json 2>/dev/null; cat .env sub/.env"); got.stdout != ".env\n.git\n.gitignore\nfile\nsub\n" {
		t.Errorf("the guest sees %+v", got)
	}
	for what, script := range map[string]string{
		"its own settings":          "echo 'x' > lazaret.toml",
		"settings by a rename":      "echo x > x; mv x lazaret.toml",
		"a secret":                  "echo x > .env",
		"a secret by renaming":      "mv .env visible",
		"another name for a secret": "ln .env visible && cat visible | grep secret",
	} {
		if got := sh(t, s, script); got.code == 0 {
			t.Errorf("%s: the guest succeeded", what)
		}
	}
	sh(t, s, "rm -f x visible; mkdir .vscode; echo '{}' > .vscode/launch.json")
	if after := listing(t, spec.Workspace); !slices.Equal(without(after, "/.git"), without(before, "/.git")) {
		t.Errorf("the host has\n%q, had\n%q", after, before)
	}
}

// without leaves out what git writes on its own.
func without(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, prefix) })
}

// Nothing appears in the host's tree because of a sandbox that did nothing.
func TestWorkspaceIsNotLittered(t *testing.T) {
	for what, spec := range map[string]runtime.Spec{"an empty one": newSpec(t), "a repository": newRepository(t)} {
		before := listing(t, spec.Workspace)
		s := start(t, spec)
		run(t, s, "true")
		stop(t, s)
		if after := listing(t, spec.Workspace); !slices.Equal(after, before) {
			t.Errorf("%s: %q, was %q", what, after, before)
		}
	}
}

// G23: the repository of a linked worktree lies outside and keeps its path.
func TestLinkedWorktree(t *testing.T) {
	spec := newRepository(t)
	main := spec.Workspace
	spec.Workspace = filepath.Join(filepath.Dir(main), "linked")
	git(t, main, "worktree", "add", "-q", "-b", "linked", spec.Workspace)
	spec.Policy.GitDirs = []string{main + "/.git"}
	config := readHost(t, main+"/.git/config")
	s := start(t, spec)
	if got := sh(t, s, "git status --porcelain && echo two >> file && git add file && git commit -qm second && git branch other && echo three >> file && git stash -q && git stash pop -q && git status --porcelain"); got.code != 0 || got.stdout != " M file\n" {
		t.Errorf("%+v", got)
	}
	if log := git(t, main, "log", "--format=%s", "linked"); log != "second\nfirst\n" {
		t.Errorf("the host's log: %q", log)
	}
	for what, script := range map[string]string{
		"the configuration": "echo x >> " + main + "/.git/config",
		"a hook":            "mkdir -p " + main + "/.git/hooks; echo x > " + main + "/.git/hooks/post-commit",
		"the pointer":       "echo 'gitdir: /x' > .git",
		"its own commondir": "echo /x > $(git rev-parse --git-dir)/commondir",
		"the main worktree": "ls " + main + "/file",
	} {
		if got := sh(t, s, script); got.code == 0 {
			t.Errorf("%s: the guest succeeded", what)
		}
	}
	if got := readHost(t, main+"/.git/config"); got != config {
		t.Errorf("the configuration became %q", got)
	}
}

// What the sandbox did is written down by the end.
func TestChangesAreInTheJournal(t *testing.T) {
	spec := newRepository(t)
	s := start(t, spec)
	if got := sh(t, s, "echo x > made; echo y >> file; mkdir -p .github/workflows; echo x > .github/workflows/ci.yml"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	stop(t, s)
	store, err := os.Open(spec.Policy.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j, err := journal.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range j.Changes(journal.Point{}, "") {
		paths = append(paths, e.Path)
	}
	for _, want := range []string{"made", "file", ".github/workflows/ci.yml"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not in the journal: %q", want, paths)
		}
	}
}

// The daemon's death is the sandbox's, with that reason. Nothing falls back to the tree.
func TestTheSandboxEndsWithTheWorkspace(t *testing.T) {
	spec := newRepository(t)
	s := start(t, spec)
	x := openTerminal(t, s, "sh", "-c", "echo ready; while :; do cat file; done")
	x.expect(t, "ready")
	family := descendants(os.Getpid())
	find(t, family, "workspace").kill(t)
	await(t, s.Done(), "the sandbox's end")
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "the workspace file system ended") {
		t.Errorf("the reason is %v", err)
	}
	stop(t, s)
	awaitGone(t, family)
}

// The daemon has the capabilities of file access, and no way to more.
func TestTheDaemonIsConfined(t *testing.T) {
	start(t, newSpec(t))
	k := find(t, descendants(os.Getpid()), "workspace")
	status := string(must(os.ReadFile("/proc/" + itoa(k.pid) + "/status")))
	const kept = "000000000000001b" // CHOWN, DAC_OVERRIDE, FOWNER, FSETID
	for _, want := range []string{"CapPrm:\t" + kept, "CapEff:\t" + kept, "CapBnd:\t" + kept, "CapInh:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(status, want+"\n") {
			t.Errorf("no %q in\n%s", want, status)
		}
	}
	for line := range strings.Lines(string(must(os.ReadFile("/proc/" + itoa(k.pid) + "/mountinfo")))) {
		if at := strings.Fields(line)[4]; at != "/" && at != "/proc" && at != "/dev/null" {
			t.Errorf("the daemon can reach %s", at)
		}
	}
}

func TestHostileRepositoriesAreRefused(t *testing.T) {
	spec := newRepository(t)
	if err := os.Rename(spec.Workspace+"/.git/objects", spec.Workspace+"/.git/o"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("o", spec.Workspace+"/.git/objects"); err != nil {
		t.Fatal(err)
	}
	_, err := supervisor.NewLauncher().Launch(t.Context(), spec, nil)
	if err == nil || !strings.Contains(err.Error(), ".git/objects") {
		t.Errorf("got %v", err)
	}
}
