package journal_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func sample() *journal.Journal {
	j := journal.New()
	j.Note(journal.Change{Path: ".github/workflows/ci.yml", Kind: journal.Created, Mark: route.Runs, Time: at(1)})
	j.Note(journal.Change{Path: "caf\xe9", Kind: journal.Changed, Time: at(2), Session: "0123456789abcdef0123456789abcdef"})
	j.Note(journal.Change{Path: "b", From: "a", Kind: journal.Renamed, Directory: true, Time: at(3)})
	j.SetMark(journal.Generation, at(2))
	return j
}

func TestSnapshotRestores(t *testing.T) {
	t.Parallel()
	j := sample()
	data, err := j.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, err := journal.Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(everything(j), everything(back)) || !reflect.DeepEqual(j.Marks(), back.Marks()) {
		t.Errorf("%+v\n%+v", everything(back), back.Marks())
	}
	back.Note(journal.Change{Path: "new", Kind: journal.Created, Time: at(4)})
	since, _ := back.Mark(journal.Generation)
	if got := paths(back.Changes(since, "")); got != "new" {
		t.Errorf("after the mark: %s", got)
	}
}

// entry and file repeat the numbers of the file, so that a test can write what the
// package never would.
type entry struct {
	Path  []byte `cbor:"1,keyasint"`
	Kinds uint8  `cbor:"2,keyasint"`
	Last  uint8  `cbor:"3,keyasint"`
	Mark  uint8  `cbor:"4,keyasint"`
	From  []byte `cbor:"5,keyasint,omitempty"`
	Who   string `cbor:"7,keyasint,omitempty"`
	First int64  `cbor:"8,keyasint"`
	Late  int64  `cbor:"9,keyasint"`
	Seq   uint64 `cbor:"10,keyasint"`
}

type counted struct {
	Dir   []byte `cbor:"1,keyasint"`
	Count uint64 `cbor:"2,keyasint"`
}

type mark struct {
	Name string `cbor:"1,keyasint"`
	Seq  uint64 `cbor:"2,keyasint"`
	Time int64  `cbor:"3,keyasint"`
}

type file struct {
	Version uint32    `cbor:"1,keyasint"`
	Epoch   []byte    `cbor:"2,keyasint"`
	Seq     uint64    `cbor:"3,keyasint"`
	Entries []entry   `cbor:"4,keyasint"`
	Dropped []counted `cbor:"5,keyasint"`
	Marks   []mark    `cbor:"6,keyasint"`
}

func sound() file {
	return file{Version: 1, Epoch: make([]byte, 16), Seq: 9,
		Entries: []entry{
			{Path: []byte("a"), Kinds: 3, Last: 2, Mark: 1, First: 1, Late: 2, Seq: 4},
			{Path: []byte("b"), Kinds: 8, Last: 8, From: []byte("c"), First: 1, Late: 1, Seq: 5},
		},
		Dropped: []counted{{Dir: []byte{}, Count: 1}, {Dir: []byte("x/y"), Count: 2}},
		Marks:   []mark{{Name: "looked", Seq: 9, Time: 5}},
	}
}

// TestRestoreRefuses: each defect has the sound file as its twin.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*file){
		"":                  func(*file) {},
		"newer version":     func(f *file) { f.Version = 2 },
		"short epoch":       func(f *file) { f.Epoch = f.Epoch[1:] },
		"no list":           func(f *file) { f.Marks = nil },
		"parent path":       func(f *file) { f.Entries[0].Path = []byte("../a") },
		"absolute path":     func(f *file) { f.Entries[0].Path = []byte("/a") },
		"unclean path":      func(f *file) { f.Entries[0].Path = []byte("a/../b") },
		"path with NUL":     func(f *file) { f.Entries[0].Path = []byte("a\x00") },
		"empty path":        func(f *file) { f.Entries[0].Path = []byte{} },
		"long path":         func(f *file) { f.Entries[0].Path = bytes.Repeat([]byte("a"), 5000) },
		"bad old name":      func(f *file) { f.Entries[1].From = []byte("..") },
		"unknown kind":      func(f *file) { f.Entries[0].Kinds = 16 + 2 },
		"two last kinds":    func(f *file) { f.Entries[0].Last = 3 },
		"last not in kinds": func(f *file) { f.Entries[0].Last = 4 },
		"unknown mark":      func(f *file) { f.Entries[0].Mark = 4 },
		"times backwards":   func(f *file) { f.Entries[0].First = 3 },
		"time before 1970":  func(f *file) { f.Entries[0].First = -1 },
		"time far ahead":    func(f *file) { f.Entries[0].Late = 1 << 60 },
		"session":           func(f *file) { f.Entries[0].Who = "../../x" },
		"same path twice":   func(f *file) { f.Entries[1].Path = []byte("a") },
		"out of order":      func(f *file) { f.Entries[1].Seq = 4 },
		"ahead of itself":   func(f *file) { f.Entries[1].Seq = 10 },
		"counted twice":     func(f *file) { f.Dropped[1].Dir = []byte{} },
		"counted outside":   func(f *file) { f.Dropped[1].Dir = []byte("../x") },
		"bad mark name":     func(f *file) { f.Marks[0].Name = "A" },
		"mark ahead":        func(f *file) { f.Marks[0].Seq = 10 },
		"too many":          func(f *file) { f.Marks = make([]mark, 33) },
	} {
		f := sound()
		spoil(&f)
		data, err := canon.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = journal.Restore(data)
		if refused := errors.Is(err, journal.ErrDamaged); refused != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzRestore(f *testing.F) {
	data, err := sample().Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	more, err := canon.Marshal(sound())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(more)
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := journal.Restore(b)
		if err != nil {
			return
		}
		again, err := j.Snapshot()
		if err != nil || !bytes.Equal(b, again) {
			t.Errorf("%x became %x, %v", b, again, err)
		}
	})
}

func FuzzRestorePins(f *testing.F) {
	p := journal.NewPins()
	if err := errors.Join(p.ByHost(".gitignore", []byte("x\n"), false), p.ByGuest("a/.gitignore", nil)); err != nil {
		f.Fatal(err)
	}
	data, err := p.Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := journal.RestorePins(b)
		if err != nil {
			return
		}
		again, err := p.Snapshot()
		if err != nil || !bytes.Equal(b, again) {
			t.Errorf("%x became %x, %v", b, again, err)
		}
	})
}

func TestValidPath(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"a": true, "a/b": true, "..a": true, "caf\xe9": true, "": false, ".": false, "..": false, "../a": false, "/a": false,
		"a/": false, "a//b": false, "./a": false, "a/..": false, "a\x00b": false, strings.Repeat("a/", 3000) + "b": false,
	} {
		if journal.ValidPath(p) != want {
			t.Errorf("%.20q: %t", p, !want)
		}
	}
}
