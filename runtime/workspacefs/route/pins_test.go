package route_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// crash begins a new generation with the pins of a moment, while the sandbox went on.
func (w *world) crash(pins map[string]route.Pin, path, content string) {
	w.t.Helper()
	w.files[path] = content
	w.restart(pins)
}

// What the sandbox writes after the last pins were kept is not the host's after a crash.
func TestACrashMakesNothingTheHosts(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} {
		w := newWorld(t, usual, repository())
		w.policy.Expect(".gitignore")
		w.policy.Expect("src/.gitignore")
		if told {
			w.guest(".gitignore", "!debug.log\n")
		}
		pins := w.policy.Pins()
		w.files["src/.gitignore"] = "!*\n"
		w.crash(pins, ".gitignore", "!secrets/\n")
		w.want(route.Held, "secrets/token", "debug.log")
		w.want(route.Shared, "notes.txt")
		w.restart(w.policy.LastPins())
		w.want(route.Held, "secrets/token", "debug.log")
		w.files[".gitignore"] = "*.log\n"
		w.restart(w.policy.LastPins()) // the host's, since
		w.want(route.Shared, "secrets/token")
		w.want(route.Held, "debug.log")
	}
}

func TestACrashMakesNoPathTracked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.policy.Expect(".git/index")
	pins := w.policy.Pins()
	w.crash(pins, ".git/index", index("src/main.go", "dist/kept.js", ".env", "secrets/token"))
	w.want(route.StandIn, ".env")
	w.want(route.Held, "secrets/token")
	w.want(route.Shared, "dist/kept.js", "src/main.go")
	w.restart(w.policy.LastPins())
	w.want(route.StandIn, ".env")
	w.crash(pins, ".git/index", index("src/main.go")) // who removed it is not known
	w.want(route.Held, "dist/kept.js")
	w.host(".git/index", index("src/main.go", ".env"))
	w.want(route.Shared, ".env")
}

// What was expected and did not happen leaves nothing.
func TestAnEndLeavesNoOpenPins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	for _, path := range []string{".gitignore", "src/.gitignore", ".git/index", ".git/info/exclude"} {
		w.policy.Expect(path)
	}
	if n := len(w.policy.Pins()); n != 4 {
		t.Errorf("%d pins", n)
	}
	w.policy.Unexpect(".gitignore")
	if _, ok := w.policy.Pins()[".gitignore"]; ok {
		t.Error("still expected")
	}
	if pins := w.policy.LastPins(); len(pins) != 0 {
		t.Errorf("%+v", pins)
	}
}

// A directory is looked into again before anybody has told what the sandbox wrote there.
func TestWhatIsExpectedIsNotReadAsTheHosts(t *testing.T) {
	t.Parallel()
	for _, expected := range []bool{false, true} {
		w := newWorld(t, usual, repository())
		w.files["src/debug.log"] = "x"
		w.want(route.Held, "src/debug.log")
		if expected {
			w.policy.Expect("src/.gitignore")
		}
		w.files["src/.gitignore"] = "!*.log\n"
		seen := w.at("src/debug.log").Class == route.Shared
		w.guest("src/.gitignore", "!*.log\n")
		if shown := w.at("src/debug.log").Class == route.Shared; shown == expected || seen == expected {
			t.Errorf("expected %v: seen %v, then %v", expected, seen, shown)
		}
	}
}

// What a directory that the sandbox renames brings along is the sandbox's.
func TestRenamedDirectoriesBringNoRules(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} {
		w := newWorld(t, usual, repository())
		w.guest("made/.gitignore", "!*.log\n")
		if told {
			if got := w.policy.Moving("made", "moved"); len(got) != 2 {
				t.Errorf("rule files below: %q", got)
			}
		}
		delete(w.files, "made/.gitignore")
		w.files["moved/.gitignore"], w.files["moved/x.log"] = "!*.log\n", "the host's"
		if shown := w.at("moved/x.log").Class == route.Shared; shown == told {
			t.Errorf("told %v: shown %v", told, shown)
		}
	}
}

// The paths of a large repository are kept in little room, and all of them come back.
func TestLargeIndexes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var paths []string
	for i := range 300_000 {
		paths = append(paths, fmt.Sprintf("services/team-%d/src/component-%d/%x-file.go", i%40, i%3000, random.Uint64()))
	}
	files := map[string]string{".git/HEAD": "x", ".gitignore": "*\n", ".git/index": index(paths...)}
	w := newWorld(t, usual, files)
	some := []string{paths[0], paths[150_000], paths[299_999]}
	w.policy.Expect(".git/index")
	open := w.policy.Pins()[".git/index"]
	if size := len(open.Content); size > 8<<20 {
		t.Errorf("%d bytes for %d paths", size, len(paths))
	}
	w.guest(".git/index", index("other"))
	last := w.policy.LastPins()[".git/index"]
	w.restart(map[string]route.Pin{".git/index": last})
	for _, path := range some { // gone with a checkout inside, and still the host's
		w.files[path] = "x"
		w.want(route.Shared, path)
	}
	w.files[".git/index"] = index(append(some, ".env")...)
	w.files[".env"] = "x"
	w.restart(map[string]route.Pin{".git/index": open})
	w.want(route.Shared, some...)
	w.want(route.StandIn, ".env")
	w.restart(map[string]route.Pin{".git/index": {Content: []byte("*"), Guest: true}})
	w.want(route.Held, some...)
	w.restart(map[string]route.Pin{".git/index": {Content: []byte("=noise"), Guest: true}})
	w.want(route.Held, some...)
}

// Rules of the sandbox that are
// too large hide what it makes beside them, and nothing else.
func TestTooLargeRulesOfTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.files["src/.gitignore"] = string(make([]byte, 1<<20))
	_, err := w.policy.GuestChanged("src/.gitignore", func(limit int64) ([]byte, error) { return w.read("src/.gitignore", limit) })
	if err == nil {
		t.Error("nothing is said of it")
	}
	w.want(route.Shared, "src/main.go", "notes.txt")
	w.want(route.Held, "debug.log", "secrets/token")
	w.wantNew(route.Held, route.File, "src/new.go")
	w.wantNew(route.Shared, route.File, "new.go")
	_, err = w.policy.GuestChanged("src/.gitignore", func(int64) ([]byte, error) { return nil, fs.ErrNotExist })
	if err != nil {
		t.Error(err)
	}
	w.wantNew(route.Shared, route.File, "src/new.go")
}

// A nested repository that the host takes away and puts back brings nothing of the
// sandbox's, whether its rules are asked for in between or not.
func TestRepositoriesPutBackBringNoRules(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		files := map[string]string{".git/HEAD": "x", "sub/.git/HEAD": "x", "sub/.git/index": index("a"), "sub/.gitignore": "*.log\n", "sub/x.log": "x", "sub/y.log": "x"}
		w := newWorld(t, usual, files)
		w.want(route.Held, "sub/x.log", "sub/y.log")
		for path, content := range map[string]string{"sub/.gitignore": "!*.log\n", "sub/.git/index": index("a", "y.log")} {
			w.policy.Expect(path)
			w.guest(path, content)
		}
		git := w.files["sub/.git/index"]
		delete(w.files, "sub/.git/HEAD")
		w.host("sub/.git/index", "")
		if _, err := w.policy.HostChanged("sub/.git", nil); err != nil {
			t.Error(err)
		}
		if asked {
			w.want(route.Held, "sub/x.log")
		}
		w.files["sub/.git/HEAD"], w.files["sub/.git/index"] = "x", git
		if _, err := w.policy.HostChanged("sub/.git", nil); err != nil {
			t.Error(err)
		}
		w.want(route.Held, "sub/x.log", "sub/y.log")
		w.restart(w.policy.LastPins())
		w.want(route.Held, "sub/x.log", "sub/y.log")
	}
}
