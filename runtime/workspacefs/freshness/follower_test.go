package freshness

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/notify"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// follow gives a Follower without a watch events and returns what became of them,
// pokes last.
func follow(t *testing.T, w *world, do func(s *sink)) []string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &Follower{config: w.config(), notifier: notify.New(notify.Options{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		do(newSink(f, w))
		f.Run(ctx, w)
	})
	return w.heard()
}

func TestRulesThenCachesThenPokes(t *testing.T) {
	t.Parallel()
	w := &world{dirs: map[uint64]string{1: "", 2: "a/b", 3: "same", 4: "//git"}}
	got := follow(t, w, func(s *sink) {
		s.Changed([]watch.Event{
			{Key: 1, Name: "file", What: watch.Content},
			{Key: 1, Name: "hidden", What: watch.Created},
			{Key: 2, Name: ".gitignore", What: watch.Created},
			{Key: 2, What: watch.Attributes},
			{Key: 3, Name: ".gitignore", What: watch.Attributes},
			{Key: 4, Name: "HEAD", What: watch.Content},
			{Key: 9, Name: "forgotten", What: watch.Content},
		})
	})
	want := []string{"rule a/b/.gitignore new", "all",
		"changed 1 file", "changed 1 hidden", "changed 2 .gitignore", "changed 2 ", "changed 3 .gitignore", "changed 4 HEAD", "changed 9 forgotten",
		"poke file", "poke a/b/.gitignore", "poke a/b", "poke same/.gitignore"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRulesThatStayInvalidateNothing(t *testing.T) {
	t.Parallel()
	w := &world{dirs: map[uint64]string{3: "same"}}
	got := follow(t, w, func(s *sink) { s.Changed([]watch.Event{{Key: 3, Name: ".gitignore", What: watch.Content}}) })
	if want := []string{"rule same/.gitignore same", "changed 3 .gitignore", "poke same/.gitignore"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestARuleThatCannotBeReadIsToldOf(t *testing.T) {
	t.Parallel()
	w := &world{dirs: map[uint64]string{1: ""}, fail: fs.ErrPermission}
	got := follow(t, w, func(s *sink) { s.Changed([]watch.Event{{Key: 1, Name: ".gitignore", What: watch.Content}}) })
	if !slices.Contains(got, "warn "+fs.ErrPermission.Error()) {
		t.Errorf("%q", got)
	}
}

func TestOverflowInvalidatesAndPokesTheTop(t *testing.T) {
	t.Parallel()
	got := follow(t, &world{rules: []string{"a/.gitignore", "b/.gitignore"}}, func(s *sink) { s.Overflow() })
	if want := []string{"rule a/.gitignore new", "rule b/.gitignore new", "all", "poke ."}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Without a watch every directory is refused, and nothing else is wrong.
func TestWithoutAWatch(t *testing.T) {
	t.Parallel()
	f := &Follower{config: (&world{}).config()}
	if err := f.OnDirectory(1, "", 0); !errors.Is(err, watch.ErrUnsupported) {
		t.Error(err)
	}
	f.OnForget(1, -1)
}

func TestAFailedWatchIsStoodInFor(t *testing.T) {
	t.Parallel()
	w := &world{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*blindTime+time.Second)
		defer cancel()
		forgetAlways(ctx, w)
	})
	if got := w.heard(); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
