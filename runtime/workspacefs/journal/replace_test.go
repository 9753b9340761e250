package journal_test

import (
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

func TestReplaceMakesThemAll(t *testing.T) {
	t.Parallel()
	p := journal.NewPins()
	if err := p.ByHost("old", []byte("x"), false); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("guest"))
	want := journal.Pin{Content: []byte("host"), By: journal.Guest, Written: sum[:]}
	if err := p.Replace(map[string]journal.Pin{".gitignore": want}); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(p.All())); !slices.Equal(got, []string{".gitignore"}) {
		t.Errorf("pinned are %q", got)
	}
	record, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, err := journal.RestorePins(record)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := back.Get(".gitignore"); !ok || string(got.Content) != "host" || !got.Awaits([]byte("guest")) {
		t.Errorf("came back as %+v", got)
	}
	tooMuch := journal.Pin{Content: []byte(strings.Repeat("x", 25<<20)), By: journal.Host}
	if err := p.Replace(map[string]journal.Pin{"a": tooMuch}); !errors.Is(err, journal.ErrTooMuch) {
		t.Errorf("got %v", err)
	}
	if _, ok := p.Get(".gitignore"); !ok {
		t.Error("the old pins are gone")
	}
}
