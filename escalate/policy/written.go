package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// WarnWritten begins the sentence that names files the sandbox wrote.
const WarnWritten = "written by the sandbox"

const (
	// lag is how far the journal may be behind the workspace, with room to spare: it is
	// written once a second.
	lag = 2 * time.Second
	// maxNamed and maxPathCells bound the sentence.
	maxNamed     = 10
	maxPathCells = 120
	// maxBuildDirs bounds the directories among the arguments whose build files count.
	maxBuildDirs = 8
)

// buildFiles are read as code by the tools of builders, from the directory they start in.
var buildFiles = []string{"Makefile", "makefile", "GNUmakefile", "package.json", "go.mod", "go.work", "Cargo.toml", "build.rs",
	"pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "tox.ini", "noxfile.py", "CMakeLists.txt", "meson.build", "configure",
	"build.ninja", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml", "Rakefile", "Gemfile", "build.gradle", "build.gradle.kts",
	"settings.gradle", "settings.gradle.kts", "gradlew", "mvnw", "pom.xml", "build.xml", "build.zig", "SConstruct", "Dockerfile",
	"docker-compose.yml", "compose.yaml", "compose.yml", "Vagrantfile", "flake.nix", "shell.nix", "default.nix", ".npmrc",
	".pnpmfile.cjs", ".yarnrc.yml", ".pre-commit-config.yaml", ".envrc"}

// writtenWarnings says which of the files the request is about the sandbox wrote, when
// what has been said so far is that it runs them.
func (p *Policy) writtenWarnings(plan *Plan, said []string) []string {
	if p.Journal == nil || !plan.runsCode(said) {
		return nil
	}
	j, err := p.Journal()
	if err != nil {
		return []string{"which files the sandbox wrote is not known: its journal cannot be read"}
	}
	w := writings{known: map[string]journal.Entry{}, now: p.Now()}
	for _, e := range j.Changes(journal.Point{}, "") {
		w.known[e.Path] = e
	}
	for _, at := range p.relevant(plan) {
		w.add(at, p.changedLately(at, w.now))
	}
	dir, _ := p.inWorkspace(plan.Dir)
	return w.sentences(dir, len(j.Dropped()) > 0)
}

func (plan *Plan) runsCode(said []string) bool {
	return plan.known(interpreters) || plan.known(wrappers) || plan.known(raisers) ||
		slices.ContainsFunc(said, func(w string) bool { return strings.HasPrefix(w, WarnProjectCode) })
}

// relevant returns the paths, relative to the workspace, of what the request names and
// of the build files it may read: first what is named.
func (p *Policy) relevant(plan *Plan) []string {
	full := []string{plan.Program}
	if strings.Contains(plan.Argv[0], "/") {
		full = append(full, absolute(plan.Argv[0], plan.Dir))
	}
	for _, f := range plan.Files {
		full = append(full, f.Path)
	}
	dirs := []string{plan.Dir}
	for _, name := range fileArguments(plan.Argv) {
		at := absolute(name, plan.Dir)
		full = append(full, at)
		if real, err := filepath.EvalSymlinks(at); err == nil {
			full = append(full, real)
		}
		if len(dirs) < maxBuildDirs && p.isDirectory(at) {
			dirs = append(dirs, at)
		}
	}
	for _, dir := range append(dirs, p.Workspace) {
		for _, name := range buildFiles {
			full = append(full, filepath.Join(dir, name))
		}
	}
	var out []string
	seen := map[string]bool{}
	for _, f := range full {
		if at, ok := p.inWorkspace(f); ok && at != "" && !seen[at] {
			seen[at] = true
			out = append(out, at)
		}
	}
	return out
}

// inWorkspace makes a host path one relative to the workspace, "" for itself.
func (p *Policy) inWorkspace(full string) (string, bool) {
	full = filepath.Clean(full)
	if full == p.Workspace {
		return "", true
	}
	return strings.CutPrefix(full, strings.TrimSuffix(p.Workspace, "/")+"/")
}

func (p *Policy) isDirectory(full string) bool {
	at, ok := p.inWorkspace(full)
	if !ok || at == "" {
		return false
	}
	st, err := p.stat(at)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// changedLately reports a change that the journal may not have yet. The time of change
// is the kernel's: the sandbox cannot set it.
func (p *Policy) changedLately(at string, now time.Time) bool {
	st, err := p.stat(at)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && time.Unix(st.Ctim.Unix()).After(now.Add(-lag))
}

func (p *Policy) stat(at string) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := openBeneath(p.root, at, unix.O_PATH, 0)
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}

// writings are the sandbox's among the files a request is about.
type writings struct {
	known  map[string]journal.Entry
	now    time.Time
	named  []journal.Entry // in the order they were asked about
	lately []string
}

// add looks a path up. What is below something the sandbox moved there, or behind a
// link it made, has no entry of its own.
func (w *writings) add(at string, lately bool) {
	for up := at; up != "."; up = path.Dir(up) {
		e, ok := w.known[up]
		if !ok || e.Last == journal.Removed || e.Directory && e.From == "" {
			continue
		}
		if !slices.ContainsFunc(w.named, func(o journal.Entry) bool { return o.Path == e.Path }) {
			w.named = append(w.named, e)
		}
		return
	}
	if lately {
		w.lately = append(w.lately, at)
	}
}

func (w *writings) sentences(dir string, forgotten bool) []string {
	var out []string
	if text := w.list(); text != "" {
		out = append(out, WarnWritten+": "+text)
	}
	if len(w.lately) > 0 {
		out = append(out, "changed in the last seconds, by the sandbox or on the host: "+list(w.lately))
	}
	switch n := w.others(dir); {
	case n == 1:
		out = append(out, "the sandbox wrote 1 other file below the working directory that tools run or build from")
	case n > 1:
		out = append(out, fmt.Sprintf("the sandbox wrote %d other files below the working directory that tools run or build from", n))
	}
	if forgotten {
		out = append(out, "the sandbox wrote more files than are remembered: what is not listed may be its own too")
	}
	return out
}

func (w *writings) list() string {
	var parts []string
	for _, e := range w.named[:min(len(w.named), maxNamed)] {
		parts = append(parts, term.SanitizeLine(e.Path, maxPathCells)+" ("+clock(e.Latest, w.now)+")")
	}
	text := strings.Join(parts, ", ")
	if more := len(w.named) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// clock is a time of day, with the day when that is another one.
func clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// others counts files below dir that tools run, and that are not named.
func (w *writings) others(dir string) int {
	n := 0
	for at, e := range w.known {
		if (e.Mark == route.Runs || e.Mark == route.Script) && e.Last != journal.Removed && !e.Directory && journal.Beneath(at, dir) {
			n++
		}
	}
	for _, e := range w.named {
		if (e.Mark == route.Runs || e.Mark == route.Script) && !e.Directory && journal.Beneath(e.Path, dir) {
			n--
		}
	}
	return n
}
