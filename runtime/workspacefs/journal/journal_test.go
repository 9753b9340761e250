package journal_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

var epoch = time.UnixMilli(1_700_000_000_000)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

func paths(entries []journal.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return strings.Join(out, " ")
}

func everything(j *journal.Journal) []journal.Entry { return j.Changes(journal.Point{}, "") }

func TestNoteCoalesces(t *testing.T) {
	t.Parallel()
	j := journal.New()
	session := "0123456789abcdef0123456789abcdef"
	j.Note(journal.Change{Path: "a/b", Kind: journal.Created, Time: at(1), Mark: route.Script})
	j.Note(journal.Change{Path: "c", Kind: journal.Changed, Time: at(2)})
	j.Note(journal.Change{Path: "a/b", Kind: journal.Changed, Time: at(3), Session: "0123456789abcdef0123456789abcdef"})
	got := everything(j)
	if paths(got) != "c a/b" {
		t.Fatalf("newest last: %s", paths(got))
	}
	want := journal.Entry{
		Path: "a/b", Kinds: journal.Created | journal.Changed, Last: journal.Changed, Mark: route.Script,
		Session: got[1].Session, First: at(1), Latest: at(3), Seq: 3,
	}
	if !reflect.DeepEqual(got[1], want) || string(got[1].Session) != session {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
}

func TestStrongestMarkStays(t *testing.T) {
	t.Parallel()
	j := journal.New()
	for _, m := range []route.Mark{route.Plain, route.Script, route.Runs, route.Rules, route.Plain} {
		j.Note(journal.Change{Path: "a", Kind: journal.Changed, Mark: m, Time: at(1)})
	}
	if got := everything(j)[0].Mark; got != route.Runs {
		t.Errorf("mark %d", got)
	}
}

func TestRenames(t *testing.T) {
	t.Parallel()
	note := func(changes ...journal.Change) []journal.Entry {
		j := journal.New()
		for _, c := range changes {
			c.Time = at(1)
			j.Note(c)
		}
		return everything(j)
	}
	moved := note(journal.Change{Path: "b", From: "a", Kind: journal.Renamed}, journal.Change{Path: "c", From: "b", Kind: journal.Renamed})
	if len(moved) != 1 || moved[0].Path != "c" || moved[0].From != "a" || moved[0].Last != journal.Renamed {
		t.Errorf("moved twice: %+v", moved)
	}
	saved := note(journal.Change{Path: "f.tmp", Kind: journal.Created, Mark: route.Script}, journal.Change{Path: "f", From: "f.tmp", Kind: journal.Changed})
	if len(saved) != 1 || saved[0].Path != "f" || saved[0].From != "" || saved[0].Kinds != journal.Changed || saved[0].Mark != route.Script {
		t.Errorf("saved by a temporary file: %+v", saved)
	}
	made := note(journal.Change{Path: "t", Kind: journal.Created}, journal.Change{Path: "f", From: "t", Kind: journal.Renamed})
	if len(made) != 1 || made[0].Kinds != journal.Created || made[0].From != "" {
		t.Errorf("made under another name: %+v", made)
	}
	dirs := note(journal.Change{Path: "d/x", Kind: journal.Changed}, journal.Change{Path: "dx", Kind: journal.Changed},
		journal.Change{Path: "e", From: "d", Kind: journal.Renamed, Directory: true})
	if paths(dirs) != "e/x dx e" {
		t.Errorf("below a renamed directory: %s", paths(dirs))
	}
}

func TestMadeAndGone(t *testing.T) {
	t.Parallel()
	j := journal.New()
	j.Note(journal.Change{Path: "t", Kind: journal.Created, Time: at(1)})
	j.Note(journal.Change{Path: "t", Kind: journal.Removed, Time: at(2)})
	j.Note(journal.Change{Path: "host", Kind: journal.Removed, Time: at(2)})
	got := everything(j)
	if !got[0].Undone() || got[1].Undone() {
		t.Errorf("%+v", got)
	}
}

// git stash and many editors take a file away and put it back.
func TestTakenAwayAndPutBackIsAChange(t *testing.T) {
	t.Parallel()
	j := journal.New()
	j.Note(journal.Change{Path: "old", Kind: journal.Removed, Time: at(1)})
	j.Note(journal.Change{Path: "old", Kind: journal.Created, Time: at(2)})
	j.Note(journal.Change{Path: "new", Kind: journal.Created, Time: at(3)})
	j.Note(journal.Change{Path: "new", Kind: journal.Removed, Time: at(4)})
	j.Note(journal.Change{Path: "new", Kind: journal.Created, Time: at(5)})
	got := everything(j)
	if got[0].Kinds != journal.Removed|journal.Changed || got[0].Last != journal.Changed {
		t.Errorf("a file that was there: %+v", got[0])
	}
	if !got[1].Kinds.Has(journal.Created) || got[1].Last != journal.Created {
		t.Errorf("a file of the sandbox's own: %+v", got[1])
	}
}

func TestForgetsPlainOldestFirst(t *testing.T) {
	t.Parallel()
	j := journal.New()
	j.Note(journal.Change{Path: "ci", Kind: journal.Created, Mark: route.Runs, Time: at(0)})
	for i := range journal.MaxPaths {
		j.Note(journal.Change{Path: fmt.Sprintf("src/app/deep/f%d", i), Kind: journal.Created, Time: at(i)})
	}
	got := everything(j)
	if len(got) != journal.MaxPaths || got[0].Path != "ci" || got[1].Path != "src/app/deep/f1" {
		t.Errorf("%d entries, first %q, %q", len(got), got[0].Path, got[1].Path)
	}
	if d := j.Dropped(); len(d) != 1 || d["src/app"] != 1 {
		t.Errorf("dropped %v", d)
	}
}

func TestBoundedInBytesAndCounters(t *testing.T) {
	t.Parallel()
	j := journal.New()
	long := strings.Repeat("x", 3000)
	for i := range 3000 {
		j.Note(journal.Change{Path: fmt.Sprintf("d%d/%s/f", i, long), Kind: journal.Created, Mark: route.Runs, Time: at(i)})
	}
	total := uint64(0)
	for _, n := range j.Dropped() {
		total += n
	}
	if kept := len(everything(j)); kept > 1400 || uint64(kept)+total != 3000 || len(j.Dropped()) > 257 {
		t.Errorf("kept %d, dropped %d in %d directories", kept, total, len(j.Dropped()))
	}
	data, err := j.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Restore(data); err != nil {
		t.Errorf("%d bytes cannot be read back: %v", len(data), err)
	}
}

func TestChangesSince(t *testing.T) {
	t.Parallel()
	j := journal.New()
	j.Note(journal.Change{Path: "old", Kind: journal.Changed, Time: at(1)})
	j.SetMark(journal.Looked, at(1))
	j.Note(journal.Change{Path: "src/new", Kind: journal.Changed, Time: at(1)})
	j.Note(journal.Change{Path: "srcs", Kind: journal.Changed, Time: at(1)})
	looked, ok := j.Mark(journal.Looked)
	if !ok || paths(j.Changes(looked, "")) != "src/new srcs" || paths(j.Changes(looked, "src")) != "src/new" {
		t.Errorf("since the mark: %v", j.Changes(looked, ""))
	}
	if here := j.Here(at(2)); len(j.Changes(here, "")) != 0 {
		t.Error("something changed after the present moment")
	}
	foreign := journal.New().Here(at(9))
	foreign.Seq = 2
	if len(j.Changes(foreign, "")) != 3 {
		t.Error("a point of another journal hid changes")
	}
	ahead := looked
	ahead.Seq = 99
	if len(j.Changes(ahead, "")) != 3 {
		t.Error("a point ahead of the journal hid changes")
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	j := journal.New()
	for _, bad := range []string{"", "UP", "a b", "../x", strings.Repeat("a", 33)} {
		j.SetMark(bad, at(1))
	}
	if n := len(j.Marks()); n != 0 {
		t.Errorf("%d bad names were taken", n)
	}
	for i := range 40 {
		j.SetMark(fmt.Sprintf("m%d", i), at(i))
	}
	if _, ok := j.Mark("m7"); ok || len(j.Marks()) != 32 {
		t.Errorf("%d marks are kept", len(j.Marks()))
	}
}

// A known path costs no memory: Note is on the hot path of every write.
func TestNoteOfAKnownPathAllocatesNothing(t *testing.T) {
	j := journal.New()
	c := journal.Change{Path: "src/main.go", Kind: journal.Changed, Time: at(1)}
	j.Note(c)
	if n := testing.AllocsPerRun(100, func() { j.Note(c) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNote(b *testing.B) {
	j := journal.New()
	var changes []journal.Change
	for i := range 10_000 {
		changes = append(changes, journal.Change{Path: fmt.Sprintf("src/package/file%d.go", i), Kind: journal.Changed, Time: at(i)})
		j.Note(changes[i])
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j.Note(changes[i%len(changes)])
	}
}
