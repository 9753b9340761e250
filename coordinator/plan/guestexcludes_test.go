package plan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime"
)

// TestStandInsAreNotAdded asks Git itself, with the file the sandbox gets.
func TestStandInsAreNotAdded(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	var excludes []byte
	for _, f := range s.build("").Spec.Layer {
		if f.Path == runtime.GuestGitExcludes {
			excludes = f.Data
		}
	}
	if excludes == nil {
		t.Fatal("the layer has no global ignore rules")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "excludes")
	tree := filepath.Join(dir, "tree")
	for name, data := range map[string]string{
		file: string(excludes), tree + "/.env": "", tree + "/sub/.env.local": "", tree + "/server.key": "",
		tree + "/.env.example": "", tree + "/main.go": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", tree, "-c", "core.excludesFile=" + file}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "--all")
	if got := strings.Fields(git("ls-files")); len(got) != 2 || got[0] != ".env.example" || got[1] != "main.go" {
		t.Errorf("added %q", got)
	}
}
