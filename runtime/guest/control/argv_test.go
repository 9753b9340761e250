package control_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/guest/control"
)

func TestSessionArgvRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := control.Session{
			ID:  domain.NewSessionID(),
			UID: rapid.Uint32().Draw(t, "uid"), GID: rapid.Uint32().Draw(t, "gid"),
			Dir:       rapid.String().Draw(t, "dir"),
			Processes: rapid.Uint32().Draw(t, "processes"), OpenFiles: rapid.Uint64().Draw(t, "files"),
			Command: rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "command"),
		}
		got, err := control.ParseSession(want.Argv()[2:])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v comes back as %+v, %v", want, got, err)
		}
	})
}

func TestInitArgvRoundTrip(t *testing.T) {
	t.Parallel()
	want := control.Init{OpenFiles: 1 << 40}
	if got, err := control.ParseInit(want.Argv()[2:]); err != nil || got != want {
		t.Fatalf("%+v comes back as %+v, %v", want, got, err)
	}
}

func TestParseRefusesForeignArguments(t *testing.T) {
	t.Parallel()
	good := control.Session{ID: domain.NewSessionID(), Command: []string{"true"}}.Argv()[2:]
	for i := range good {
		if _, err := control.ParseSession(append(append([]string{}, good[:i]...), good[i+1:]...)); !errors.Is(err, control.ErrArguments) {
			t.Errorf("without %q: %v", good[i], err)
		}
	}
	bad := append([]string{"--id=../../etc"}, good[1:]...)
	if _, err := control.ParseSession(bad); !errors.Is(err, control.ErrArguments) {
		t.Errorf("foreign id: %v", err)
	}
	if _, err := control.ParseInit([]string{"--open-files=-1"}); !errors.Is(err, control.ErrArguments) {
		t.Errorf("negative limit: %v", err)
	}
}
