package route_test

import (
	"errors"
	"slices"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func TestGuestRulesHideOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.guest(".gitignore", "*.txt\n!debug.log\n!secrets/\n")
	w.want(route.Shared, "notes.txt")
	w.wantNew(route.Held, route.File, "new.txt", "src/new.txt")
	w.want(route.Held, "debug.log", "secrets/token", ".venv/bin/python")
	w.wantNew(route.Held, route.File, "new.log")
	w.guest("src/.gitignore", "*\n!main.go\n")
	w.wantNew(route.Held, route.File, "src/new.go", "src/deep/new.go")
	w.want(route.Shared, "src/main.go")
}

func TestHostRulesCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.enter("src")
	w.host(".gitignore", "*.txt\n")
	w.want(route.Held, "notes.txt")
	w.want(route.Shared, "debug.log", "secrets/token")
	w.host(".git/info/exclude", "")
	w.want(route.Shared, "scratch/x")
	if w.host("src/main.go", "y") {
		t.Error("an ordinary file changes the rules")
	}
	w.host("src/.gitignore", "*.go\n!main.go\n")
	w.wantNew(route.Held, route.File, "src/x.go")
	w.host("src/.gitignore", "")
	w.wantNew(route.Shared, route.File, "src/x.go")
}

// TestHostGitBringsNoGuestRules: what was committed inside comes back by the host's
// checkout, and by events that say that somebody wrote what is there already.
func TestHostGitBringsNoGuestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	original := w.files[".gitignore"]
	for _, content := range []string{"!secrets/\n", "", "# nothing\n"} {
		w.guest(".gitignore", content)
		w.host(".gitignore", content)
		w.want(route.Held, "secrets/token", "debug.log")
		w.host(".gitignore", original)
		w.host(".gitignore", content)
		w.want(route.Held, "secrets/token", "debug.log")
	}
	w.host(".gitignore", "*.log\n")
	w.want(route.Shared, "secrets/token")
}

func TestOutdatedDirectoriesAnswerByTheRulesInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	src := w.enter("src")
	w.host(".gitignore", "/src/*.tmp\n/src\n")
	if v := w.policy.Name(src, "x", route.Names{Host: route.File}); v.Class != route.Held {
		t.Errorf("in a directory that became ignored: %+v", v)
	}
	if v := w.policy.Name(src, "main.go", route.Names{Host: route.File}); v.Class != route.Shared {
		t.Errorf("a tracked file in it: %+v", v)
	}
}

func TestForcedAdditionsRevealNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	tracked := []string{".gitignore", "src/main.go", "dist/kept.js"}
	more := append(tracked, ".env", "secrets/token", ".idea/workspace.xml")
	w.host(".git/index", index(tracked...))
	for range 2 {
		w.guest(".git/index", index(more...))
		w.host(".git/index", index(append(more, "notes.txt")...)) // the host's git adds its own, and rewrites the rest
		w.want(route.StandIn, ".env")
		w.want(route.Held, "secrets/token")
		w.want(route.Transient, ".idea/workspace.xml")
		w.restart(w.policy.Pins())
	}
	w.host(".git/index", index(tracked...))
	w.host(".git/index", index(more...)) // now the host says so
	w.want(route.Shared, ".env", "secrets/token")
	w.want(route.ReadOnly, ".idea/workspace.xml")
}

// TestRemovalsInsideHideNothing goes from a branch with a tracked file in an ignored
// directory to one without and back, with the host's git looking in between.
func TestRemovalsInsideHideNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	with, without := index("src/main.go", "dist/kept.js"), index("src/main.go")
	w.host(".git/index", with)
	w.guest(".git/index", without)
	w.want(route.Shared, "dist/kept.js")
	w.host(".git/index", without)
	w.restart(w.policy.Pins())
	delete(w.files, "dist/kept.js")
	w.wantNew(route.Shared, route.File, "dist/kept.js")
	w.guest(".git/index", with)
	w.files["dist/kept.js"] = "x"
	w.want(route.Shared, "dist/kept.js", "dist")
	w.host(".git/index", without)
	w.want(route.Held, "dist/kept.js")
}

func TestTrackedInsideStaysWhereItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.guest("src/.gitignore", "gen/\n")
	w.guest(".git/index", index("src/main.go", "src/gen/a.go"))
	w.wantNew(route.Shared, route.File, "src/gen/a.go")
	w.wantNew(route.Held, route.File, "src/gen/b.go")
}

func TestPinsOutliveTheGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.guest(".gitignore", "!secrets/\n")
	w.guest("src/.gitignore", "*.x\n")
	w.restart(w.policy.Pins())
	w.want(route.Held, "secrets/token", "debug.log")
	w.restart(w.policy.Pins()) // src was not entered
	w.enter("src")
	if pins := w.policy.Pins(); len(pins) != 2 || !pins["src/.gitignore"].Absent || string(pins[".gitignore"].Content) == "" {
		t.Errorf("pins are %+v", pins)
	}
	w.restart(nil) // accepted
	w.want(route.Shared, "secrets/token", "debug.log")
}

func TestHostEditsBetweenGenerationsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.guest(".gitignore", "!secrets/\n")
	pins := w.policy.Pins()
	w.files[".gitignore"] = "*.log\n"
	w.restart(pins)
	w.want(route.Shared, "secrets/token")
	w.want(route.Held, "debug.log")
	if pins := w.policy.Pins(); len(pins) != 0 {
		t.Errorf("pins are %+v", pins)
	}
}

func TestRulesThatCannotBeReadHide(t *testing.T) {
	t.Parallel()
	files := repository()
	big := make([]byte, 1<<20)
	files["src/.gitignore"], files["src/new.go"] = string(big), "x"
	files["sub/.git/HEAD"], files["sub/.git/index"], files["sub/x"] = "x", "no index", "x"
	w := newWorld(t, usual, files)
	w.want(route.Held, "src/new.go", "sub/x")
	w.want(route.Shared, "src/main.go", "notes.txt")
	broken := errors.New("broken")
	before := w.policy.Generation()
	if outdated, err := w.policy.HostChanged(".gitignore", func(int64) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) || outdated {
		t.Errorf("got %v, %v", outdated, err)
	}
	if _, err := w.policy.HostChanged(".git/index", func(int64) ([]byte, error) { return []byte("x"), nil }); err == nil {
		t.Error("took noise for an index")
	}
	if w.policy.Generation() != before {
		t.Error("an unreadable file changed the rules")
	}
	w.want(route.Held, "secrets/token")
}

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	for name, change := range map[string]func(*route.Config){
		"mask":     func(c *route.Config) { c.Masks = []string{"[a"} },
		"secret":   func(c *route.Config) { c.Secrets = []string{"[a"} },
		"excludes": func(c *route.Config) { c.Excludes = make([]byte, 1<<20) },
		"index":    func(*route.Config) { w.files[".git/index"] = "noise" },
	} {
		config := w.config
		change(&config)
		if _, err := route.New(config); err == nil {
			t.Errorf("a bad %s is accepted", name)
		}
	}
}

func TestRepositoryMadeByTheHostWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, map[string]string{"a.log": "x", ".gitignore": "*.log\n", "sub/a.log": "x"})
	w.want(route.Held, "a.log", "sub/a.log")
	w.files[".git/index"] = index("a.log")
	w.host(".git/HEAD", "x")
	if outdated, err := w.policy.HostChanged(".git", nil); !outdated || err != nil {
		t.Errorf("got %v, %v", outdated, err)
	}
	w.want(route.Shared, "a.log")
	w.files["sub/.git/HEAD"] = "x"
	if outdated, err := w.policy.HostChanged("sub/.git", nil); !outdated || err != nil {
		t.Errorf("got %v, %v", outdated, err)
	}
	w.want(route.Shared, "sub/a.log")
}

func TestRuleFilesAreNamed(t *testing.T) {
	t.Parallel()
	files := repository()
	files["src/.gitignore"], files["sub/.git/HEAD"] = "x", "x"
	w := newWorld(t, usual, files)
	w.enter("src")
	w.enter("sub")
	want := []string{".git/index", ".git/info/exclude", ".gitignore", "src/.gitignore", "sub/.git/index", "sub/.git/info/exclude"}
	if got := w.policy.RuleFiles(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
