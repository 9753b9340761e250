package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// allowed are the only import paths, or trees of them, outside the standard library.
var allowed = []string{
	"lazaret.dev/lazaret/cmd/lazaret-escalate",
	"lazaret.dev/lazaret/escalate", "lazaret.dev/lazaret/escalate/client", "lazaret.dev/lazaret/escalate/wire",
	"lazaret.dev/lazaret/escalate/seal",
	"lazaret.dev/lazaret/internal/canon", "lazaret.dev/lazaret/internal/domain",
	"lazaret.dev/lazaret/runtime/guest", "lazaret.dev/lazaret/runtime/guest/control", "lazaret.dev/lazaret/runtime/leader",
	"github.com/fxamacker/cbor/v2", "github.com/x448/float16",
	"golang.org/x/sys/unix",
}

// forbidden are parts of the standard library that would make the binary large, or
// reach for what it must not have.
var forbidden = []string{"os/exec", "net", "net/http", "crypto/tls", "plugin", "runtime/cgo"}

const maxSize = 6 << 20 // bytes, stripped

func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestImports(t *testing.T) {
	t.Parallel()
	deps := strings.Fields(goTool(t, "list", "-deps", "-f", "{{.ImportPath}}{{if not .Standard}} !{{end}}", "."))
	imported := map[string]bool{}
	for i, path := range deps {
		imported[path] = true
		if path == "!" {
			if !contains(allowed, deps[i-1]) {
				t.Errorf("the guest binary imports %s", deps[i-1])
			}
			continue
		}
		if contains(forbidden, path) {
			t.Errorf("the guest binary imports %s", path)
		}
	}
	for _, wanted := range []string{"lazaret.dev/lazaret/runtime/guest", "lazaret.dev/lazaret/escalate/client", "golang.org/x/sys/unix"} {
		if !imported[wanted] {
			t.Errorf("the guest binary lacks %s: this test looks at the wrong thing", wanted)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lazaret-escalate")
	goTool(t, "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= maxSize {
		t.Errorf("the guest binary has %d bytes, limit %d", info.Size(), maxSize)
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}
