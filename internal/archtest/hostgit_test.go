package archtest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyHostgitRunsGit: no other file that starts processes names the program. One
// names a distribution's package of that name.
func TestOnlyHostgitRunsGit(t *testing.T) {
	t.Parallel()
	const runner, packages = "coordinator/hostgit/run.go", "runtime/image/build.go"
	named := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(`lazaret/internal/proc"`)) && bytes.Contains(text, []byte(`"git"`)) {
			at, err := filepath.Rel(root, path)
			named[at] = true
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !named[runner] {
		t.Errorf("%s does not name git: the rule guards nothing", runner)
	}
	for at := range named {
		if at != runner && at != packages {
			t.Errorf("%s starts processes and names git, which only coordinator/hostgit may run", at)
		}
	}
}
