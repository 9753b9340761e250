package supervisor

import (
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime"
)

func newPoked() *sandbox {
	return &sandbox{spec: runtime.Spec{WorkspaceGuest: "/workspace"}, done: make(chan struct{}), pokes: make(chan string, maxPokes)}
}

func TestChangesBecomeGuestPaths(t *testing.T) {
	t.Parallel()
	s := newPoked()
	var poked []string
	for _, name := range []string{"a", "a b/c\n", ".", ".git/HEAD", "..x"} {
		m, ok := changedMessage([]byte(name))
		if !ok {
			t.Errorf("%q is refused", name)
		}
		s.changed(m)
	}
	s.pokeChanged(func(p string) error {
		if poked = append(poked, p); len(poked) == 5 {
			close(s.done)
		}
		return nil
	})
	if want := []string{"/workspace/a", "/workspace/a b/c\n", "/workspace", "/workspace/.git/HEAD", "/workspace/..x"}; !slices.Equal(poked, want) {
		t.Errorf("poked %q", poked)
	}
}

func TestPathsOutOfTheWorkspaceAreNotPoked(t *testing.T) {
	t.Parallel()
	s := newPoked()
	for _, name := range []string{"", "..", "../x", "a/../../x", "a/../b", "/etc/shadow", "a//b", "./a", "a/", "a\x00b", "a\xff", strings.Repeat("x", 5000)} {
		if _, ok := changedMessage([]byte(name)); ok {
			t.Errorf("RS passes %q on", name)
		}
		s.changed(message{Kind: kindChanged, Text: name})
	}
	if len(s.pokes) != 0 {
		t.Errorf("poked %q", <-s.pokes)
	}
}

func TestASlowGuestDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newPoked()
	for range 10 * maxPokes {
		s.changed(message{Kind: kindChanged, Text: "a"})
	}
	if len(s.pokes) != maxPokes {
		t.Errorf("%d wait", len(s.pokes))
	}
}
