package archtest_test

import (
	"sort"
	"testing"

	"lazaret.dev/lazaret/internal/archtest"
)

const root = "../.."

// only says that no package outside its users imports what. wanted is one edge
// that must exist, so that renaming a package cannot make the rule empty.
var only = []struct {
	what   string
	users  []string
	wanted string
}{
	{"os/exec", []string{"internal/proc", "internal/build", "internal/e2e", "internal/bench"}, "internal/proc"},
	{"github.com/hinshun/vt10x", []string{"internal/term"}, "internal/term"},
	{"charm.land/bubbletea/v2", []string{"app", "views", "themes", "cmd"}, "app"},
	{"runtime/gvisor", []string{"runtime/supervisor", "runtime/host", "cmd", "internal/bench"}, "runtime/supervisor"},
	{"github.com/fxamacker/cbor/v2", []string{"internal/canon"}, "internal/canon"},
	{"github.com/vishvananda/netlink", []string{"runtime/netpolicy"}, "runtime/netpolicy"},
	{"github.com/opencontainers/umoci/oci/layer", []string{"runtime/image"}, "runtime/image"},
}

func TestOnlyTheNamedPackagesImport(t *testing.T) {
	t.Parallel()
	imports := read(t)
	for _, rule := range only {
		seen := false
		for folder, list := range imports {
			if !importsWithin(list, rule.what) {
				continue
			}
			if !withinAny(folder, append(rule.users, rule.what)) {
				t.Errorf("%s imports %s, which only %v may", folder, rule.what, rule.users)
			}
			seen = seen || archtest.Within(folder, rule.wanted)
		}
		if !seen {
			t.Errorf("nothing in %s imports %s: the rule guards nothing", rule.wanted, rule.what)
		}
	}
}

// never says that no package of folder imports anything of list.
var never = []struct {
	folder string
	list   []string
	wanted string // an edge the folder must have
}{
	{"views", []string{"coordinator", "runtime", "store", "app", "internal/proc"}, "internal/frame"},
	{"app", []string{"runtime", "store", "coordinator/server", "coordinator/session", "internal/proc"}, "views"},
	{"themes", []string{"app", "views", "coordinator", "runtime", "escalate"}, "internal/frame"},
	{"coordinator", []string{"app", "views", "themes", "cmd"}, "runtime"},
	{"runtime", []string{"app", "views", "themes", "cmd", "coordinator", "store"}, "internal/domain"},
	{"escalate", []string{"app", "views", "themes", "cmd", "coordinator", "store"}, "internal/domain"},
	{"internal", []string{"app", "views", "themes", "cmd", "coordinator", "store"}, "internal/domain"},
	{"coordinator/wire", []string{"coordinator/server", "coordinator/client", "net", "os"}, "internal/canon"},
	{"escalate/client", []string{"runtime", "net/http", "crypto/tls", "internal/config"}, "escalate/wire"},
}

// exempt are the edges of never that are wanted all the same, with the reason.
var exempt = map[string]string{
	"internal/e2e":         "drives the finished programs",
	"internal/bench":       "drives the finished programs",
	"internal/sandboxtest": "prepares real lowers for the sandbox suites",
}

func TestDirectionOfDependencies(t *testing.T) {
	t.Parallel()
	imports := read(t)
	for _, rule := range never {
		seen := false
		for folder, list := range imports {
			if !archtest.Within(folder, rule.folder) || exempt[folder] != "" {
				continue
			}
			seen = seen || importsWithin(list, rule.wanted)
			for _, banned := range rule.list {
				if importsWithin(list, banned) {
					t.Errorf("%s imports %s, against the direction of dependencies", folder, banned)
				}
			}
		}
		if !seen {
			t.Errorf("nothing in %s imports %s: the rule guards nothing", rule.folder, rule.wanted)
		}
	}
}

func TestSandboxClientStaysSmall(t *testing.T) {
	t.Parallel()
	imports := read(t)
	for name := range reachable(imports, "cmd/lazaret-escalate") {
		switch name {
		case "net/http", "crypto/tls", "github.com/spf13/cobra", "github.com/spf13/viper":
			t.Errorf("the client inside the sandbox reaches %s", name)
		}
	}
}

// reachable returns every package the folder imports, directly or through ours.
func reachable(imports archtest.Imports, folder string) map[string]bool {
	found := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for next := range imports[name] {
			if !found[next] {
				found[next] = true
				visit(next)
			}
		}
	}
	visit(folder)
	return found
}

func read(t *testing.T) archtest.Imports {
	t.Helper()
	imports, err := archtest.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(imports) < 20 {
		t.Fatalf("read only %d packages: the tree has moved", len(imports))
	}
	return imports
}

func importsWithin(list map[string]bool, prefix string) bool {
	for name := range list {
		if archtest.Within(name, prefix) {
			return true
		}
	}
	return false
}

func withinAny(folder string, prefixes []string) bool {
	sort.Strings(prefixes)
	for _, p := range prefixes {
		if archtest.Within(folder, p) {
			return true
		}
	}
	return false
}
