package freshness

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// repeat runs an echo for a while and returns what it repeated, with the time.
func repeat(t *testing.T, feed func(e *echo)) (got []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		note := func(what string) { got = append(got, fmt.Sprint(time.Since(began), " ", what)) }
		e := newEcho(soonTime, func(events []watch.Event) {
			for _, event := range events {
				note(event.Name)
			}
		}, func() { note("all") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() { e.run(ctx); close(done) }()
		synctest.Wait()
		feed(e)
		<-done
	})
	return got
}

func TestOnlyNewNamesAreRepeated(t *testing.T) {
	t.Parallel()
	got := repeat(t, func(e *echo) {
		e.take([]watch.Event{{Name: "made", What: watch.Created | watch.Content}, {Name: "written", What: watch.Content}, {What: watch.SelfGone}})
		e.take([]watch.Event{{Name: "read", What: watch.Attributes}})
		<-time.After(10 * time.Millisecond)
		e.take([]watch.Event{{Name: "gone", What: watch.Removed}})
	})
	if want := []string{"40ms made", "50ms gone"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTooManyAreOne(t *testing.T) {
	t.Parallel()
	got := repeat(t, func(e *echo) {
		for i := range maxEchoes + 10 {
			e.take([]watch.Event{{Name: fmt.Sprint(i), What: watch.Created}})
		}
	})
	if len(got) != 10 || got[0] != "40ms all" || got[1] != fmt.Sprint("40ms ", maxEchoes+1) {
		t.Errorf("%q", got)
	}
}
