package link_test

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/packet"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
)

func pair(t *testing.T) (a, b *packet.Conn) {
	t.Helper()
	x, y, err := packet.Pair("daemon", "supervisor")
	if err != nil {
		t.Fatal(err)
	}
	if a, err = packet.Open(x); err != nil {
		t.Fatal(err)
	}
	if b, err = packet.Open(y); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func null(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestResourcesArrive(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	sent := link.Resources{
		Policy: runtime.WorkspacePolicy{Masks: []string{".vscode"}, GlobalExcludes: []byte("*.o\n\xff"), GitDirs: []string{"/a", "/b"}},
		Tree:   null(t), Git: null(t), Host: null(t), Store: null(t), Transient: null(t), GitDirs: []*os.File{null(t), null(t)}, GitDirFuses: []*os.File{null(t), null(t)},
		Workspace: "/home/dev/work",
	}
	if err := sent.Send(a); err != nil {
		t.Fatal(err)
	}
	got, err := link.Receive(b)
	if err != nil {
		t.Fatal(err)
	}
	defer packet.CloseAll(got.Files())
	if !reflect.DeepEqual(got.Policy, sent.Policy) || got.Workspace != sent.Workspace || len(got.Files()) != len(sent.Files()) {
		t.Errorf("got %+v with %d files", got.Policy, len(got.Files()))
	}
}

func TestIncompleteStartsAreRefused(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	sent := link.Resources{Policy: runtime.WorkspacePolicy{GitDirs: []string{"/a"}},
		Tree: null(t), Git: null(t), Host: null(t), Store: null(t), Transient: null(t)}
	if err := sent.Send(a); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(link.Message{Kind: link.KindStart}, null(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r, err := link.Receive(b); err == nil {
			t.Errorf("accepted %+v", r)
		}
	}
}

func TestFailuresCrossTheLink(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	cause := &fault.Error{Kind: fault.Config, Message: "bad", Fix: "do this", Err: errors.New("why")}
	if err := a.Send(link.Failure(cause)); err != nil {
		t.Fatal(err)
	}
	var m link.Message
	if _, err := b.Receive(&m); err != nil {
		t.Fatal(err)
	}
	if err := m.Err(); fault.KindOf(err) != fault.Config || fault.FixOf(err) != "do this" || err.Error() != "bad: why" {
		t.Errorf("got %v, fix %q", err, fault.FixOf(err))
	}
}
