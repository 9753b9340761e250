package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// stateWorld is a configWorld with a Domain of the given profile that has storage.
type stateWorld struct {
	t          *testing.T
	ws, domain string
}

func newStateWorld(t *testing.T, profiles ...string) *stateWorld {
	t.Helper()
	home, ws := configWorld(t)
	w := &stateWorld{t: t, ws: ws}
	for _, profile := range profiles {
		w.openDomain(profile, filepath.Join(home, ".local/share/lazaret"))
	}
	return w
}

// openDomain gives the workspace a Domain of profile; the first one is w's.
func (w *stateWorld) openDomain(profile, data string) {
	w.t.Helper()
	id, digest := domain.Identify(profile, w.ws)
	dir, err := root.Open(plan.Plan{Domain: id, Digest: digest[:], Profile: profile, Workspace: w.ws, DataRoot: data})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "workspace/held"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if w.domain == "" {
		w.domain = dir
	}
}

func (w *stateWorld) write(dir, at, text string) string {
	w.t.Helper()
	path := filepath.Join(dir, at)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *stateWorld) held(at, text string) string {
	w.t.Helper()
	return w.write(filepath.Join(w.domain, "workspace/held"), at, text)
}

func (w *stateWorld) save(name string, snapshot func() ([]byte, error)) {
	w.t.Helper()
	data, err := snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join(w.domain, "workspace"), name, string(data))
}

func runState(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := &cobra.Command{Use: "lazaret", SilenceUsage: true, SilenceErrors: true}
	cmd.PersistentFlags().String("config", "", "")
	cmd.AddCommand(newStateCommand())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetArgs(append([]string{"state"}, args...))
	err := cmd.Execute()
	return out.String(), err
}

func stateFails(t *testing.T, kind fault.Kind, args ...string) {
	t.Helper()
	out, err := runState(t, "", args...)
	if err == nil || fault.KindOf(err) != kind || fault.FixOf(err) == "" {
		t.Errorf("%v: %v, fix %q, printed %q", args, err, fault.FixOf(err), out)
	}
}

func sampleJournal() *journal.Journal {
	j := journal.New()
	at := time.UnixMilli(1_700_000_000_000)
	j.Note(journal.Change{Path: "main.go", Kind: journal.Changed, Time: at})
	j.Note(journal.Change{Path: "Makefile", Kind: journal.Changed, Mark: route.Script, Time: at})
	j.Note(journal.Change{Path: "tmp", Kind: journal.Created, Time: at})
	j.Note(journal.Change{Path: "tmp", Kind: journal.Removed, Time: at})
	j.SetMark(journal.Generation, at)
	j.Note(journal.Change{Path: ".github/workflows/ci.yml", Kind: journal.Created, Mark: route.Runs, Time: at})
	j.Note(journal.Change{Path: "b", From: "a", Kind: journal.Renamed, Directory: true, Time: at})
	j.Note(journal.Change{Path: "src/evil\x1b[2Jname", Kind: journal.Removed, Time: at})
	return j
}

func TestStateChanges(t *testing.T) {
	w := newStateWorld(t, "shell")
	if out, err := runState(t, "", "changes"); err != nil || out != "The sandbox changed nothing.\n" {
		t.Errorf("no journal: %q, %v", out, err)
	}
	w.save("journal", sampleJournal().Snapshot)
	when := time.UnixMilli(1_700_000_000_000).Format("Jan 02 15:04:05")
	want := strings.ReplaceAll(`run or obeyed by your tools:
  TIME  created   .github/workflows/ci.yml
executable, or build files:
  TIME  changed   Makefile
other files:
  TIME  changed   main.go
  TIME  renamed   b/ (from a)
  TIME  removed   "src/evil\x1b[2Jname"
1 created and removed again (--all lists them)
`, "TIME", when)
	out, err := runState(t, "", "changes")
	if err != nil || out != want {
		t.Errorf("got\n%s%v", out, err)
	}
	if out, err := runState(t, "", "changes", "--all", "tmp", "./main.go"); err != nil || !strings.Contains(out, "undone    tmp") || strings.Contains(out, "Makefile") {
		t.Errorf("got\n%s%v", out, err)
	}
	if out, err := runState(t, "", "changes", "--since", "generation", filepath.Join(w.ws, "b")); err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("got\n%s%v", out, err)
	}
	if out, err := runState(t, "", "changes", "--since", "looked", "--mark"); err != nil || out != want {
		t.Errorf("never looked: got\n%s%v", out, err)
	}
	if out, err := runState(t, "", "changes", "--since", "looked"); err != nil || out != "The sandbox changed nothing.\n" {
		t.Errorf("after looking: %q, %v", out, err)
	}
	stateFails(t, fault.Usage, "changes", "--since", "yesterday")
	stateFails(t, fault.Usage, "changes", "../x")
	w.write(filepath.Join(w.domain, "workspace"), "journal", "damaged")
	stateFails(t, fault.Workspace, "changes")
}

func TestStateChangesJSON(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.save("journal", sampleJournal().Snapshot)
	out, err := runState(t, "", "changes", "--json")
	var got struct {
		Profile string
		Changes []changeJSON
		Marks   map[string]time.Time
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if got.Profile != "shell" || len(got.Changes) != 6 || len(got.Marks) != 1 {
		t.Errorf("%+v", got)
	}
	if c := got.Changes[3]; c.Path != ".github/workflows/ci.yml" || c.Mark != "runs" || c.What != "created" {
		t.Errorf("%+v", c)
	}
}

func TestStateFindsTheDomain(t *testing.T) {
	newStateWorld(t)
	stateFails(t, fault.Workspace, "held")
	newStateWorld(t, "claude")
	if out, err := runState(t, "", "held"); err != nil || out != "Nothing waits to be accepted.\n" {
		t.Errorf("the only one: %q, %v", out, err)
	}
	stateFails(t, fault.Workspace, "held", "--profile", "shell")
	newStateWorld(t, "claude", "codex")
	stateFails(t, fault.Usage, "held")
	if _, err := runState(t, "", "held", "--profile", "codex"); err != nil {
		t.Error(err)
	}
	w := newStateWorld(t, "claude", "shell") // shell is the default profile
	if out, err := runState(t, "", "held", "--json"); err != nil || !strings.Contains(out, `"profile": "shell"`) {
		t.Errorf("%s, %v", out, err)
	}
	if err := os.RemoveAll(filepath.Join(w.domain, "workspace")); err != nil {
		t.Fatal(err)
	}
	stateFails(t, fault.Workspace, "held", "--profile", "claude")
}

func TestStateHeld(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.write(w.ws, ".gitignore", "node_modules\n")
	w.write(w.ws, ".git/HEAD", "x")
	w.held(".env", "KEY=1\n")
	w.held(".envrc", "export X=1\n")
	w.held(".git/rebase-merge/done", "x")
	w.held("lib/.git/HEAD", "ref: refs/heads/main\n")
	w.held("node_modules/a/b.js", "12345")
	want := `waits to be accepted (lazaret state accept PATH):
  secret                 6 B  .env
  waits                 11 B  .envrc
  git directory         21 B  lib/.git/
stays in Domain storage:
  git state              1 B  .git/rebase-merge/
ignored by git: 5 B, entries: 3, places: 1
`
	if out, err := runState(t, "", "held"); err != nil || out != want {
		t.Errorf("got\n%s%v", out, err)
	}
	if out, err := runState(t, "", "held", "--ignored"); err != nil || !strings.Contains(out, "node_modules/\n") {
		t.Errorf("got\n%s%v", out, err)
	}
	out, err := runState(t, "", "held", "--json")
	var got struct {
		Held           []foundJSON
		IgnoredEntries int64 `json:"ignored_entries"`
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Held) != 4 || got.IgnoredEntries != 3 {
		t.Errorf("%s, %v", out, err)
	}
	stateFails(t, fault.Usage, "held", "extra")
}

func TestStateAccept(t *testing.T) {
	w := newStateWorld(t, "shell")
	from := w.held("app/.envrc", "export X=1\n\x1b[2Jhidden\n")
	for _, no := range []string{"", "n\n", "yep\n"} {
		if _, err := runState(t, no, "accept", "app/.envrc"); fault.KindOf(err) != fault.General || fault.FixOf(err) == "" {
			t.Errorf("answer %q: %v", no, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.ws, "app")); err == nil {
		t.Error("something was made without a yes")
	}
	want := `app/.envrc: file, 22 B
  makes the directory app/
  goes to app/.envrc in the workspace, mode 0644
  | export X=1
  | \x1b[2Jhidden
Take exactly this into the workspace? [y/N] accepted app/.envrc
`
	if out, err := runState(t, "y\n", "accept", "app/.envrc"); err != nil || out != want {
		t.Errorf("got\n%s%v", out, err)
	}
	if data, err := os.ReadFile(filepath.Join(w.ws, "app/.envrc")); err != nil || !strings.HasPrefix(string(data), "export") {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(from); err == nil {
		t.Error("it is still held")
	}
	stateFails(t, fault.General, "accept", "--yes", "app/.envrc")
	w.held("app/.envrc", "other\n")
	stateFails(t, fault.General, "accept", "--yes", "app/.envrc")
	if out, err := runState(t, "", "accept", "--yes", "--replace", "app/.envrc"); err != nil || !strings.Contains(out, "REPLACES") {
		t.Errorf("got\n%s%v", out, err)
	}
}

// A git directory is shown with what it gets and what it loses.
func TestStateAcceptGitDirectory(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.held("lib/.git/HEAD", "ref: refs/heads/main\n")
	w.held("lib/.git/config", "[core]\n\tfsmonitor = evil\n")
	w.held("lib/.git/refs/heads/main", strings.Repeat("a", 40)+"\n")
	w.held("lib/.git/objects/info/x", "")
	w.held("lib/.git/hooks/pre-commit", "evil")
	want := `lib/.git: git directory, 129 B
  makes the directory lib/
  goes to lib/.git in the workspace: 3 files, 5 directories, 0 links
  its configuration will be:
  | [core]
  |     repositoryformatversion = 0
  |     filemode = true
  |     bare = false
  left out:
    config: core.fsmonitor
    hooks/
    objects/info/x
accepted lib/.git
`
	if out, err := runState(t, "", "accept", "--yes", "lib/.git"); err != nil || out != want {
		t.Errorf("got\n%s%v", out, err)
	}
	if _, err := os.Lstat(filepath.Join(w.ws, "lib/.git/hooks")); err == nil {
		t.Error("the hooks came along")
	}
}

// All or nothing is planned: one refusal keeps the others from being taken.
func TestStateAcceptSeveral(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.held("one", "1")
	if err := os.Symlink("one", filepath.Join(w.domain, "workspace/held/two")); err != nil {
		t.Fatal(err)
	}
	stateFails(t, fault.General, "accept", "--yes", "one", "two")
	if _, err := os.Lstat(filepath.Join(w.ws, "one")); err == nil {
		t.Error("the first was taken")
	}
	stateFails(t, fault.Usage, "accept", "--yes", "../one")
}

func TestStateAcceptWhileRunning(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.held("one", "1")
	w.held("dir/x", "1")
	coordinator, ok, err := root.TryLock(root.LockPath(w.domain))
	if err != nil || !ok {
		t.Fatal(err)
	}
	defer coordinator.Close()
	if _, err := runState(t, "", "accept", "--yes", "one"); err != nil {
		t.Error(err)
	}
	stateFails(t, fault.General, "accept", "--yes", "dir")
	coordinator.Close()
	if _, err := runState(t, "", "accept", "--yes", "dir"); err != nil {
		t.Errorf("stopped: %v", err)
	}
	other, _, err := root.TryLock(root.AcceptLockPath(w.domain))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stateFails(t, fault.Workspace, "accept", "--yes", "one")
}

func TestStateAcceptRuleFileAndRecovery(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.write(w.ws, ".gitignore", "!secret\n")
	pins := journal.NewPins()
	if err := pins.ByHost(".gitignore", []byte("secret\n"), false); err != nil {
		t.Fatal(err)
	}
	if err := pins.ByGuest(".gitignore", []byte("!secret\n")); err != nil {
		t.Fatal(err)
	}
	w.save("pins", pins.Snapshot)
	id := strings.Repeat("0", 32)
	w.write(filepath.Join(w.domain, "workspace/aside"), id+"/path", "cut")
	w.write(filepath.Join(w.domain, "workspace/aside"), id+"/item", "x")
	want := `an earlier acceptance was cut off: cut is held again
.gitignore: rule file, 8 B
  stays as it is; these rules come into force:
  - secret
  + !secret
accepted .gitignore
`
	if out, err := runState(t, "", "accept", "--yes", ".gitignore"); err != nil || out != want {
		t.Errorf("got\n%s%v", out, err)
	}
	stateFails(t, fault.General, "accept", "--yes", ".gitignore")
}

func TestStateAcceptCompletes(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.held(".envrc", "x")
	w.held("evil\x1b[2J", "x")
	w.held("lib/.git/HEAD", "x")
	cmd := &cobra.Command{Use: "lazaret"}
	cmd.AddCommand(newStateCommand())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs([]string{"__complete", "state", "accept", ""})
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(out.String(), ".envrc\nlib/.git\n:") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
