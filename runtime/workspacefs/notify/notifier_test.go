package notify_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/notify"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

func TestRunPokes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := notify.New(notify.Options{Rate: 10, Burst: 1})
		var poked []string
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		began := time.Now()
		go func() {
			ran <- n.Run(ctx, func(path string) error { poked = append(poked, path); return nil })
		}()
		synctest.Wait()
		n.Changed("a", "f", watch.Content)
		n.Changed("a", "g", watch.Created)
		after := time.NewTimer(time.Second)
		<-after.C
		n.Overflow()
		after.Reset(time.Second)
		<-after.C
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if want := []string{"a/f", "a/g", "a", "."}; !slices.Equal(poked, want) {
			t.Errorf("%q", poked)
		}
		if passed := time.Since(began); passed != 2*time.Second {
			t.Errorf("in %v", passed)
		}
	})
}

func TestRunEndsWithItsPoker(t *testing.T) {
	t.Parallel()
	n, broken := notify.New(notify.Options{}), errors.New("broken")
	n.Changed(".", "f", watch.Content)
	if err := n.Run(t.Context(), func(string) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}
