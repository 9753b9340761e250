package notify_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/notify"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type change struct {
	dir, name string
	what      watch.What
}

func TestWhatIsPoked(t *testing.T) {
	t.Parallel()
	many := make([]change, 17)
	for i := range many {
		many[i] = change{"d", fmt.Sprint(i), watch.Content}
	}
	for name, c := range map[string]struct {
		changes []change
		want    []string
	}{
		"content":        {[]change{{"a/b", "f", watch.Content}}, []string{"a/b/f"}},
		"attributes":     {[]change{{".", "f", watch.Attributes}}, []string{"f"}},
		"created":        {[]change{{"a", "f", watch.Created | watch.Content}}, []string{"a/f", "a"}},
		"removed":        {[]change{{"a", "f", watch.Removed}}, []string{"a"}},
		"removed folder": {[]change{{"a", "f", watch.Removed | watch.Directory}}, []string{"a"}},
		"came and went":  {[]change{{".", "f", watch.Created | watch.Removed}}, []string{"f", "."}},
		"itself":         {[]change{{"a", "", watch.Attributes | watch.SelfMoved}}, nil},
		"twice":          {[]change{{"a", "f", watch.Content}, {"a", "f", watch.Content}}, []string{"a/f"}},
		"two folders":    {[]change{{"a", "f", watch.Content}, {"b", "f", watch.Content}, {"a", "g", watch.Content}}, []string{"a/f", "a/g", "b/f"}},
		"16 names":       {many[:16], []string{"d/0", "d/1", "d/2", "d/3", "d/4", "d/5", "d/6", "d/7", "d/8", "d/9", "d/10", "d/11", "d/12", "d/13", "d/14", "d/15"}},
		"17 names":       {many, []string{"d"}},
		"17, one again":  {append(slices.Clone(many), many[0]), []string{"d"}},
		"no text":        {[]change{{"a", "f\xff", watch.Content}, {"\xff", "f", watch.Created}}, []string{"a"}},
	} {
		q := notify.NewQueue(notify.Options{}, start)
		for _, change := range c.changes {
			q.Add(start, change.dir, change.name, change.what)
		}
		if got, wait := q.Take(start); got != nil || (len(c.want) > 0 && wait <= 0) {
			t.Errorf("%s: before it settled %q, %v", name, got, wait)
		}
		got, wait := q.Take(start.Add(time.Second))
		if !slices.Equal(got, c.want) || wait >= 0 || q.Waiting() != 0 {
			t.Errorf("%s: %q, %v, %d waiting", name, got, wait, q.Waiting())
		}
	}
}

// Settling counts from the first change: one that never ceases is told all the same.
func TestSettlingEnds(t *testing.T) {
	t.Parallel()
	q := notify.NewQueue(notify.Options{Settle: 10 * time.Millisecond}, start)
	now, poked := start, 0
	for range 100 {
		q.Add(now, "a", "log", watch.Content)
		got, _ := q.Take(now)
		poked += len(got)
		now = now.Add(time.Millisecond)
	}
	if poked != 9 {
		t.Errorf("%d pokes in 100 ms", poked)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	q := notify.NewQueue(notify.Options{Rate: 10, Burst: 5, Fold: 100, Settle: 1}, start)
	for i := range 20 {
		q.Add(start, "a", fmt.Sprint(i), watch.Content)
	}
	now := start.Add(time.Millisecond)
	got, wait := q.Take(now)
	if len(got) != 5 || wait <= 0 || wait > 101*time.Millisecond {
		t.Fatalf("a burst of %q, then %v", got, wait)
	}
	// What was poked and changes again waits at the end; what waits stays one.
	q.Add(now, "a", "0", watch.Content)
	q.Add(now, "a", "19", watch.Content)
	all := got
	for wait >= 0 {
		now = now.Add(wait)
		if got, wait = q.Take(now); len(got) > 1 {
			t.Fatalf("%q at once", got)
		}
		all = append(all, got...)
	}
	if passed := now.Sub(start); len(all) != 21 || all[20] != "a/0" || passed < 1500*time.Millisecond || passed > 1700*time.Millisecond {
		t.Errorf("%q in %v", all, passed)
	}
}

func TestAFullQueueFolds(t *testing.T) {
	t.Parallel()
	q := notify.NewQueue(notify.Options{Rate: 1000, Burst: 1000, Fold: 3, Queue: 6}, start)
	for d := range 50 {
		for f := range 2 {
			q.Add(start, fmt.Sprint("d", d), fmt.Sprint(f), watch.Content)
		}
	}
	if q.Waiting() > 8 {
		t.Errorf("%d paths wait", q.Waiting())
	}
	got, _ := q.Take(start.Add(time.Second))
	if want := []string{"d0/0", "d0/1", "d1/0", "d1/1", "d2/0", "d2/1", "."}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestOverflowPokesTheTop(t *testing.T) {
	t.Parallel()
	q := notify.NewQueue(notify.Options{}, start)
	q.Add(start, "a", "f", watch.Content)
	q.Everything(start)
	q.Everything(start)
	if got, wait := q.Take(start.Add(time.Second)); !slices.Equal(got, []string{"."}) || wait >= 0 {
		t.Errorf("%q, %v", got, wait)
	}
}

// Every change is answered by a poke of it, of its directory or of the top that comes
// after it, however it is mixed and bounded.
func TestNoChangeIsForgotten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		q := notify.NewQueue(notify.Options{Rate: 1 + random.IntN(200), Burst: 1 + random.IntN(5), Fold: 1 + random.IntN(4), Queue: 1 + random.IntN(12)}, start)
		now, open := start, map[change]bool{}
		answer := func(paths []string) {
			for c := range open {
				if slices.Contains(paths, path.Join(c.dir, c.name)) || slices.Contains(paths, c.dir) || slices.Contains(paths, ".") {
					delete(open, c)
				}
			}
		}
		for range 100 {
			c := change{fmt.Sprint("d", random.IntN(5)), fmt.Sprint("f", random.IntN(6)), []watch.What{watch.Created, watch.Removed, watch.Content}[random.IntN(3)]}
			q.Add(now, c.dir, c.name, c.what)
			open[c] = true
			now = now.Add(time.Duration(random.IntN(10)) * time.Millisecond)
			got, _ := q.Take(now)
			answer(got)
			if q.Waiting() > 30 {
				t.Fatalf("%d wait", q.Waiting())
			}
		}
		for wait := time.Duration(0); wait >= 0; now = now.Add(wait) {
			var got []string
			got, wait = q.Take(now)
			answer(got)
		}
		if len(open) != 0 || q.Waiting() != 0 {
			t.Fatalf("round %d: unanswered %v, %d waiting", round, open, q.Waiting())
		}
	}
}
