package route_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// hidden are the classes of names whose host content the sandbox does not see.
func hidden(c route.Class) bool {
	return c == route.Held || c == route.StandIn || c == route.Absent || c == route.Transient
}

var (
	ruleLines = []string{"*", "!*", "*.log", "!*.log", "secrets/", "!secrets/", "!secrets/token", "/dist", "!/dist/", "a", "!a", "**/x", "!**/x", ".env", "!.env"}
	rulePaths = []string{".gitignore", "src/.gitignore", "dist/.gitignore", "secrets/.gitignore"}
	somePaths = []string{".env", "debug.log", "secrets/token", "dist/made.js", "dist/kept.js", "dist/other/made.js", ".idea/workspace.xml",
		".vscode/tasks.json", "src/main.go", "notes.txt", "certs/real.pem", ".venv/bin/python", "scratch/x", "lazaret.toml", ".claude/settings.local.json"}
)

func drawRules(t *rapid.T) string {
	lines := rapid.SliceOfN(rapid.SampledFrom(ruleLines), 0, 5).Draw(t, "lines")
	return strings.Join(append(lines, ""), "\n")
}

func drawIndex(t *rapid.T) string {
	paths := map[string]bool{}
	for _, path := range rapid.SliceOf(rapid.SampledFrom(somePaths)).Draw(t, "paths") {
		paths[path] = true
	}
	list := make([]string, 0, len(paths))
	for path := range paths {
		list = append(list, path)
	}
	return index(list...)
}

// guestStep is one thing the sandbox does to the rules, with what the host's git
// does in return: nothing, noticing the file, or writing the same bytes again.
func guestStep(t *rapid.T, w *world) {
	path, content := rapid.SampledFrom(append(rulePaths, ".git/index")).Draw(t, "path"), ""
	if path == ".git/index" {
		content = drawIndex(t)
	} else if rapid.Bool().Draw(t, "write") {
		content = drawRules(t)
	}
	w.guest(path, content)
	if rapid.Bool().Draw(t, "echo") {
		w.host(path, content)
	}
	if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
		w.restart(w.policy.Pins())
	}
}

// TestGuestNeverReveals: whatever the sandbox does to rule files and the index,
// nothing of the host's that was hidden is seen afterwards, in this generation or a
// later one. That the host can reveal is seen by TestHostRulesCount.
func TestGuestNeverReveals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, usual, repository())
		w.host(".gitignore", drawRules(rt))
		w.host(".git/index", drawIndex(rt))
		before := map[string]bool{}
		for _, path := range somePaths {
			before[path] = hidden(w.at(path).Class)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			guestStep(rt, w)
		}
		for _, path := range somePaths {
			if now := w.at(path); before[path] && !hidden(now.Class) {
				rt.Fatalf("%q was hidden and is %+v", path, now)
			}
		}
	})
}

// TestGuestLosesNothing is the other half: what was seen of the host's is seen still.
func TestGuestLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, usual, repository())
		w.host(".git/index", drawIndex(rt))
		before := map[string]bool{}
		for _, path := range somePaths {
			before[path] = hidden(w.at(path).Class)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			guestStep(rt, w)
		}
		for _, path := range somePaths {
			if now := w.at(path); !before[path] && hidden(now.Class) {
				rt.Fatalf("%q was seen and is %+v", path, now)
			}
		}
	})
}

// FuzzName holds that a name in a git directory the host has is never writable
// unless the list says so, and that every answer has a reason.
func FuzzName(f *testing.F) {
	f.Add(".git/config", uint8(0))
	f.Add("src/.env", uint8(1))
	f.Fuzz(func(t *testing.T, path string, kind uint8) {
		for part := range strings.SplitSeq(path, "/") {
			if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
				return
			}
		}
		w := newWorld(t, usual, repository())
		v := w.to(path, route.Kind(kind%5))
		if v.Class < route.Shared || v.Class > route.StandIn || v.Why == "" {
			t.Errorf("%q is %+v", path, v)
		}
		if name := strings.ToLower(path); v.Class == route.Shared && (strings.HasPrefix(name, ".git/config") || strings.HasPrefix(name, ".git/hooks")) {
			t.Errorf("%q is %+v", path, v)
		}
	})
}
