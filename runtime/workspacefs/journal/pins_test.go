package journal_test

import (
	"errors"
	"fmt"
	"testing"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

func TestPinsKeepTheHostsContent(t *testing.T) {
	t.Parallel()
	p := journal.NewPins()
	for _, err := range []error{p.ByHost(".gitignore", []byte("secret\n"), false), p.ByGuest(".gitignore", []byte("!secret\n")), p.ByGuest("new/.gitignore", []byte("x"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, err := journal.RestorePins(data)
	if err != nil {
		t.Fatal(err)
	}
	pin, ok := back.Get(".gitignore")
	if !ok || string(pin.Content) != "secret\n" || pin.By != journal.Guest || pin.Absent {
		t.Errorf("%+v", pin)
	}
	if !pin.Awaits([]byte("!secret\n")) || pin.Awaits([]byte("the host's since\n")) {
		t.Error("who wrote the file last is not told by its content")
	}
	if made, _ := back.Get("new/.gitignore"); !made.Absent || len(back.All()) != 2 {
		t.Errorf("%+v", back.All())
	}
	if err := back.ByHost(".gitignore", []byte("!secret\n"), false); err != nil {
		t.Fatal(err)
	}
	if pin, _ := back.Get(".gitignore"); pin.Awaits([]byte("!secret\n")) {
		t.Error("an accepted file still awaits acceptance")
	}
}

func TestPinsAreBounded(t *testing.T) {
	t.Parallel()
	p := journal.NewPins()
	big := make([]byte, 24<<20)
	if err := p.ByHost("f", append(big, 1), false); !errors.Is(err, journal.ErrTooMuch) {
		t.Errorf("a large file: %v", err)
	}
	var err error
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, name := range names {
		err = errors.Join(err, p.ByHost(name, big, false))
	}
	if !errors.Is(err, journal.ErrTooMuch) || len(p.All()) != 1 {
		t.Errorf("%d pins, %v", len(p.All()), err)
	}
	if err := p.ByHost("../x", nil, false); !errors.Is(err, journal.ErrTooMuch) {
		t.Errorf("a path outside: %v", err)
	}
}

// While the sandbox may be writing a file, whatever else is found there is its doing.
func TestOpenPinsAwaitWhateverIsFound(t *testing.T) {
	t.Parallel()
	open := journal.Pin{Content: []byte("host"), By: journal.Guest, Written: make([]byte, 32)}
	if open.Awaits([]byte("host")) || !open.Awaits([]byte("guest")) || !open.AwaitsRemoval("x") {
		t.Error("a file the host had")
	}
	open.Content, open.Absent = nil, true
	if !open.Awaits([]byte("guest")) || !open.Awaits(nil) || open.AwaitsRemoval("x") {
		t.Error("a file the host had not")
	}
	p := journal.NewPins()
	if err := p.Replace(map[string]journal.Pin{"x": open}); err != nil {
		t.Fatal(err)
	}
	data, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := journal.RestorePins(data); err != nil || len(back.All()) != 1 {
		t.Errorf("%v", err)
	}
}

// Many files, and the paths of a large index, come back.
func TestManyPins(t *testing.T) {
	t.Parallel()
	all := map[string]journal.Pin{}
	for i := range 50_000 {
		all[fmt.Sprintf("dir-%d/.gitignore", i)] = journal.Pin{Absent: true, By: journal.Guest, Written: make([]byte, 32)}
	}
	all[".git/index"] = journal.Pin{Content: make([]byte, 20<<20), By: journal.Guest, Written: make([]byte, 32)}
	p := journal.NewPins()
	if err := p.Replace(all); err != nil {
		t.Fatal(err)
	}
	data, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := journal.RestorePins(data); err != nil || len(back.All()) != len(all) {
		t.Errorf("%v", err)
	}
}

type pin struct {
	Path    []byte `cbor:"1,keyasint"`
	Content []byte `cbor:"2,keyasint"`
	Absent  bool   `cbor:"3,keyasint,omitempty"`
	By      uint8  `cbor:"4,keyasint"`
	Written []byte `cbor:"5,keyasint,omitempty"`
}

type pinFile struct {
	Version uint32 `cbor:"1,keyasint"`
	Pins    []pin  `cbor:"2,keyasint"`
}

func TestRestorePinsRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*pinFile){
		"":                    func(*pinFile) {},
		"newer version":       func(f *pinFile) { f.Version = 2 },
		"no list":             func(f *pinFile) { f.Pins = nil },
		"path outside":        func(f *pinFile) { f.Pins[0].Path = []byte("../a") },
		"out of order":        func(f *pinFile) { f.Pins[0].Path = []byte("c") },
		"unknown author":      func(f *pinFile) { f.Pins[0].By = 3 },
		"absent with content": func(f *pinFile) { f.Pins[0].Absent = true },
		"host with digest":    func(f *pinFile) { f.Pins[0].Written = make([]byte, 32) },
		"guest without":       func(f *pinFile) { f.Pins[1].Written = nil },
		"content missing":     func(f *pinFile) { f.Pins[1].Content = nil },
		"large content":       func(f *pinFile) { f.Pins[0].Content = make([]byte, 24<<20+1) },
	} {
		f := pinFile{Version: 1, Pins: []pin{
			{Path: []byte("a"), Content: []byte("x"), By: 1},
			{Path: []byte("b"), Content: []byte{}, Absent: true, By: 2, Written: make([]byte, 32)},
		}}
		spoil(&f)
		data, err := canon.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = journal.RestorePins(data)
		if refused := errors.Is(err, journal.ErrDamaged); refused != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
