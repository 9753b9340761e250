package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/escalate/policy"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// noon is past every file a test writes.
func noon() time.Time {
	y, m, d := time.Now().AddDate(0, 0, 2).Date()
	return time.Date(y, m, d, 12, 0, 30, 0, time.Local)
}

// journalled gives a place a journal of changes, and a clock that is past them all.
func journalled(t *testing.T, changes ...journal.Change) (*place, *journal.Journal) {
	t.Helper()
	p, j := newPlace(t), journal.New()
	for i, c := range changes {
		if c.Time.IsZero() {
			c.Time = noon().Add(time.Duration(i-len(changes)) * time.Second)
		}
		j.Note(c)
	}
	p.Journal = func() (*journal.Journal, error) { return j, nil }
	p.Now = noon
	return p, j
}

func written(path string) journal.Change {
	return journal.Change{Path: path, Kind: journal.Created, Mark: route.Script}
}

// sentence returns the one warning that begins with text, else "".
func sentence(plan *policy.Plan, text string) string {
	for _, w := range plan.Warnings {
		if strings.HasPrefix(w, text) {
			return w
		}
	}
	return ""
}

// TestWhatTheSandboxWroteIsNamed: each way in which a file of a request can be the
// sandbox's. Its twin is the same request without the change.
func TestWhatTheSandboxWroteIsNamed(t *testing.T) {
	t.Parallel()
	moved := journal.Change{Path: "sub", Kind: journal.Renamed, From: "elsewhere", Directory: true}
	for name, c := range map[string]struct {
		argv   []string
		change journal.Change
		want   string
	}{
		"build file":          {[]string{"make"}, written("Makefile"), "Makefile ("},
		"program":             {[]string{"./sub/x.sh"}, written("sub/x.sh"), "sub/x.sh ("},
		"script":              {[]string{"python3.11", "sub/plain.py"}, journal.Change{Path: "sub/plain.py", Kind: journal.Changed}, "sub/plain.py ("},
		"script of a wrapper": {[]string{"env", "sub/x.sh"}, written("sub/x.sh"), "sub/x.sh ("},
		"named directory":     {[]string{"make", "-C", "sub"}, written("sub/Makefile"), "sub/Makefile ("},
		"moved directory":     {[]string{"./sub/x.sh"}, moved, "sub ("},
		"link on the way":     {[]string{"./link/x.sh"}, journal.Change{Path: "link", Kind: journal.Created}, "link ("},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, changes := range [][]journal.Change{{c.change}, nil} {
				p, _ := journalled(t, changes...)
				p.write(t, filepath.Join(p.workspace, "Makefile"), "all:\n", 0o644)
				p.write(t, filepath.Join(p.workspace, "sub/x.sh"), "#!/bin/sh\n", 0o755)
				p.write(t, filepath.Join(p.workspace, "sub/plain.py"), "print()", 0o644)
				if err := os.Symlink("sub", filepath.Join(p.workspace, "link")); err != nil {
					t.Fatal(err)
				}
				got := sentence(p.judge(t, c.argv...), policy.WarnWritten)
				if changes == nil && got != "" {
					t.Errorf("not written: %q", got)
				}
				if changes != nil && got != policy.WarnWritten+": "+c.want+"12:00)" {
					t.Errorf("written: %q, want %q", got, c.want)
				}
			}
		})
	}
}

// TestWhatIsNotTheSandboxs is not said: what it took away, directories it made, and
// anything where no code of the project runs.
func TestWhatIsNotTheSandboxs(t *testing.T) {
	t.Parallel()
	p, _ := journalled(t,
		journal.Change{Path: "Makefile", Kind: journal.Removed, Mark: route.Script},
		journal.Change{Path: "sub", Kind: journal.Created, Directory: true}, written("package.json"))
	for _, name := range []string{"Makefile", "sub/Makefile"} {
		p.write(t, filepath.Join(p.workspace, name), "all:\n", 0o644)
	}
	if got := sentence(p.judge(t, "make", "-C", "sub"), policy.WarnWritten); strings.Contains(got, "Makefile") || strings.Contains(got, "sub") {
		t.Errorf("%q", got)
	}
	if plan := p.judge(t, "tool", "x"); warns(plan, "sandbox") {
		t.Errorf("no code of the project: %q", plan.Warnings)
	}
	if got := sentence(p.judge(t, "make"), policy.WarnWritten); !strings.Contains(got, "package.json") {
		t.Errorf("harmless twin: %q", got)
	}
}

func TestOtherFilesThatToolsRunAreCounted(t *testing.T) {
	t.Parallel()
	changes := []journal.Change{written("Makefile"), {Path: "notes", Kind: journal.Created}, {Path: "d", Kind: journal.Created, Directory: true, Mark: route.Runs}}
	for i := range 3 {
		changes = append(changes, written(fmt.Sprintf("sub/%d.sh", i)))
	}
	p, _ := journalled(t, changes...)
	if plan := p.judge(t, "make"); !warns(plan, "wrote 3 other files below") {
		t.Errorf("%q", plan.Warnings)
	}
	plan, err := p.Judge([]string{"make"}, "sub")
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if !warns(plan, "wrote 3 other files below") || !warns(plan, ": Makefile (") {
		t.Errorf("in a directory: %q", plan.Warnings)
	}
	p, _ = journalled(t, changes[:3]...)
	if plan := p.judge(t, "make"); warns(plan, "other file") {
		t.Errorf("none: %q", plan.Warnings)
	}
}

// TestTheJournalIsHostile: names that drive a terminal, times of other days, more than
// fits, forgotten paths, and a file that is no journal.
func TestTheJournalIsHostile(t *testing.T) {
	t.Parallel()
	name := "sub/\x1b[2Ja\u202e" + strings.Repeat("x", 200) + ".sh"
	nasty := written(name)
	nasty.Time = time.Date(2001, 2, 3, 4, 5, 0, 0, time.Local)
	p, j := journalled(t, nasty)
	p.write(t, filepath.Join(p.workspace, name), "#!/bin/sh\n", 0o755)
	got := sentence(p.judge(t, "./"+name), policy.WarnWritten)
	if !strings.HasPrefix(got, policy.WarnWritten+`: sub/\x1b[2Ja\u{202e}xxx`) || !strings.HasSuffix(got, "… (2001-02-03 04:05)") || len(got) > 200 {
		t.Errorf("%q", got)
	}
	argv := []string{"env"}
	for i := range 12 {
		file := fmt.Sprintf("s%02d", i)
		p.write(t, filepath.Join(p.workspace, file), "#!/bin/sh\n", 0o755)
		j.Note(journal.Change{Path: file, Kind: journal.Created, Mark: route.Script, Time: noon()})
		argv = append(argv, "./"+file)
	}
	if got := sentence(p.judge(t, argv...), policy.WarnWritten); !strings.HasSuffix(got, " and 2 more") {
		t.Errorf("%q", got)
	}
	const forgotten = "more files than are remembered"
	if plan := p.judge(t, "make"); warns(plan, forgotten) {
		t.Errorf("nothing is forgotten: %q", plan.Warnings)
	}
	for i := range journal.MaxPaths {
		j.Note(journal.Change{Path: fmt.Sprintf("flood/%d", i), Kind: journal.Created, Time: noon()})
	}
	if plan := p.judge(t, "make"); !warns(plan, forgotten) {
		t.Errorf("%q", plan.Warnings)
	}
	p.Journal = func() (*journal.Journal, error) { return nil, journal.ErrDamaged }
	if plan := p.judge(t, "make"); !warns(plan, "journal cannot be read") {
		t.Errorf("%q", plan.Warnings)
	}
}

// TestWhatTheJournalMayNotHaveYet: an agent that writes a file and asks at once is ahead
// of the journal.
func TestWhatTheJournalMayNotHaveYet(t *testing.T) {
	t.Parallel()
	const lately = "changed in the last seconds"
	p, j := journalled(t)
	p.write(t, filepath.Join(p.workspace, "Makefile"), "all:\n", 0o644)
	if plan := p.judge(t, "make"); warns(plan, lately) {
		t.Errorf("long ago: %q", plan.Warnings)
	}
	p.Now = time.Now
	// Its time of modification is the sandbox's to set, its time of change is not.
	if err := os.Chtimes(filepath.Join(p.workspace, "Makefile"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if plan := p.judge(t, "make"); !warns(plan, lately) || !warns(plan, "Makefile") {
		t.Errorf("%q", plan.Warnings)
	}
	j.Note(journal.Change{Path: "Makefile", Kind: journal.Created, Time: time.Now()})
	if plan := p.judge(t, "make"); warns(plan, lately) || !warns(plan, policy.WarnWritten) {
		t.Errorf("known by now: %q", plan.Warnings)
	}
}
