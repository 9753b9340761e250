package plan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

func TestPolicyOfTheDefaults(t *testing.T) {
	t.Parallel()
	p := newSetting(t).build("")
	policy := p.Spec.Policy
	if policy.Store != p.Root()+"/workspace" || policy.Ignored != runtime.IgnoredDomain ||
		!slices.Contains(policy.Masks, ".vscode") || !slices.Contains(policy.Secrets, ".env") || policy.GitDirs != nil {
		t.Errorf("policy = %+v", policy)
	}
}

// The ignore file is found as Git finds it, through includes and without running it.
func TestGlobalExcludesAreFound(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":                    {nil, ""},
		"the usual place":         {map[string]string{".config/git/ignore": "usual\n"}, "usual\n"},
		"named":                   {map[string]string{".gitconfig": "[core]\n\texcludesFile = ~/mine\n", "mine": "mine\n", ".config/git/ignore": "usual\n"}, "mine\n"},
		"the last name":           {map[string]string{".config/git/config": "[core]\nexcludesfile=~/a", ".gitconfig": "[core]\nexcludesfile=~/b", "a": "a", "b": "b"}, "b"},
		"through an include":      {map[string]string{".gitconfig": "[include]\npath=work.inc\n", "work.inc": "[core]\nexcludesfile=~/mine\n", "mine": "mine\n"}, "mine\n"},
		"a circle of includes":    {map[string]string{".gitconfig": "[include]\npath=.gitconfig\n[core]\nexcludesfile=~/mine\n", "mine": "mine\n"}, "mine\n"},
		"a broken configuration":  {map[string]string{".gitconfig": "[core\n", ".config/git/ignore": "usual\n"}, "usual\n"},
		"named and missing":       {map[string]string{".gitconfig": "[core]\nexcludesfile=~/none\n", ".config/git/ignore": "usual\n"}, ""},
		"bytes that are not text": {map[string]string{".config/git/ignore": "\xff\n"}, "\xff\n"},
	} {
		s := newSetting(t)
		for name, text := range c.files {
			s.write(filepath.Join(s.home, name), text)
		}
		if got := string(s.build("").Spec.Policy.GlobalExcludes); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// What hides must not be dropped because it could not be read.
func TestUnreadableExcludesRefuse(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{"a folder": "~", "a device": "/dev/zero", "too long": "~/long"} {
		s := newSetting(t)
		s.write(filepath.Join(s.home, "long"), strings.Repeat("x\n", 1<<20))
		s.write(filepath.Join(s.home, ".gitconfig"), "[core]\nexcludesfile = "+strings.Replace(text, "~", s.home, 1)+"\n")
		if _, err := s.try("shell", ""); fault.KindOf(err) != fault.Config || fault.FixOf(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// linked makes the setting's workspace a linked worktree and returns its repository.
func (s *setting) linked() string {
	s.t.Helper()
	main := filepath.Join(s.t.TempDir(), "main")
	s.write(main+"/file", "x")
	git(s.t, main, "init", "-q")
	git(s.t, main, "add", ".")
	git(s.t, main, "commit", "-qm", "x")
	s.workspace = filepath.Join(filepath.Dir(main), "linked")
	git(s.t, main, "worktree", "add", "-q", s.workspace)
	return main + "/.git"
}

func TestRepositoryOfALinkedWorktree(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	want := s.linked()
	if got := s.build("").Spec.Policy.GitDirs; !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRepositoryOfASubmodule(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	other := s.linked()
	super := t.TempDir()
	git(t, super, "init", "-q")
	git(t, super, "submodule", "--quiet", "add", filepath.Dir(other), "sub")
	s.workspace = super + "/sub"
	if got := s.build("").Spec.Policy.GitDirs; !slices.Equal(got, []string{super + "/.git/modules/sub"}) {
		t.Errorf("got %q", got)
	}
}

// A pointer is a file of the workspace: alone it opens nothing on the host.
func TestForeignRepositoriesAreRefused(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(s *setting, repo string){
		"another worktree's pointer": func(s *setting, repo string) {
			other := t.TempDir()
			s.write(other+"/.git", "gitdir: "+repo+"/worktrees/linked\n")
			s.workspace = other
		},
		"a repository that knows nothing of it": func(s *setting, repo string) {
			s.workspace = t.TempDir()
			s.write(s.workspace+"/.git", "gitdir: "+repo+"\n")
		},
		"a link in the way": func(s *setting, repo string) {
			if err := os.Symlink(repo, s.home+"/alias"); err != nil {
				t.Fatal(err)
			}
			s.write(s.workspace+"/.git", "gitdir: "+s.home+"/alias/worktrees/linked\n")
		},
		"a commondir to elsewhere": func(s *setting, repo string) {
			s.write(repo+"/worktrees/linked/commondir", s.home+"\n")
		},
		"no repository": func(s *setting, _ string) {
			s.write(s.workspace+"/.git", "gitdir: "+s.home+"\n")
		},
	} {
		s := newSetting(t)
		spoil(s, s.linked())
		if p, err := s.try("shell", ""); fault.KindOf(err) != fault.Config || fault.FixOf(err) == "" {
			t.Errorf("%s: %v, %q", what, err, p.Spec.Policy.GitDirs)
		}
	}
}

// A worktree that was moved away from its repository starts; Git says inside what is wrong.
func TestDanglingPointerStarts(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	s.write(s.workspace+"/.git", "gitdir: /no/such/repository\n")
	if got := s.build("").Spec.Policy.GitDirs; got != nil {
		t.Errorf("got %q", got)
	}
}
