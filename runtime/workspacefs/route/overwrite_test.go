package route_test

import (
	"errors"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// An index written inside must not make the host's next checkout put the sandbox's
// files over what the host has and the sandbox is not shown.
func TestIndexSparesWhatIsHidden(t *testing.T) {
	t.Parallel()
	config := usual
	config.Hidden = []string{"lazaret.toml"}
	w := newWorld(t, config, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/index": index("certs/test.pem", "main.go"), ".git/objects/x": "", ".git/refs/x": "",
		".gitignore": "/dist/\n*.log\n", "main.go": "", "plain.txt": "", "certs/test.pem": "tracked",
		".env": "secret", "sub/.env.local": "secret", "dist/app": "built", "run.log": "", ".vscode/tasks.json": "{}",
		"sub/.git/HEAD": "ref: refs/heads/main\n", "sub/.git/index": index(), "sub/.git/objects/x": "", "sub/.git/refs/x": "", "sub/key.pem": "",
	})
	check := func(dir string, paths ...string) error {
		return w.policy.Check(w.enter(dir), "index", []byte(index(paths...)))
	}
	for path, why := range map[string]string{
		".env": "a stand-in", "dist/app": "an ignored file", "run.log": "an ignored file", ".vscode/tasks.json": "a masked file",
		"lazaret.toml": "Lazaret's own", "dist": "an ignored directory", ".env/x": "a directory in place of a stand-in", "run.log/a/b": "the same, deeper",
	} {
		if err := check(".git", path); !errors.Is(err, gitrules.ErrUnsafe) {
			t.Errorf("%s (%s) may be put into the index: %v", path, why, err)
		}
	}
	if err := check("sub/.git", "key.pem"); !errors.Is(err, gitrules.ErrUnsafe) {
		t.Errorf("a nested repository's index may cover a stand-in: %v", err)
	}
	for path, why := range map[string]string{
		"plain.txt": "shared", "new/file.go": "new", "certs/test.pem": "tracked though it looks like a secret",
		"dist2/app": "new", ".env.example": "a template", "other.log": "ignored, but the host has none",
	} {
		if err := check(".git", path); err != nil {
			t.Errorf("%s (%s): %v", path, why, err)
		}
	}
	if err := check("sub/.git", "new.txt"); err != nil {
		t.Errorf("a nested repository's ordinary file: %v", err)
	}
}
