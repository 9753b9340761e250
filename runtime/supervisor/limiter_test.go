package supervisor

import (
	"testing"
	"time"
)

func TestLimiterBoundsRateAndCount(t *testing.T) {
	t.Parallel()
	l := newLimiter(10, 3, 8)
	now := l.last
	take := func(after time.Duration) (n int) {
		now = now.Add(after)
		for range 5 {
			if l.takeAt(now) {
				n++
			}
		}
		return n
	}
	for i, c := range []struct {
		after time.Duration
		want  int
	}{
		{0, 3}, {50 * time.Millisecond, 0}, {50 * time.Millisecond, 1}, {time.Hour, 3}, {time.Hour, 1}, {time.Hour, 0},
	} {
		if got := take(c.after); got != c.want {
			t.Errorf("step %d: %d, want %d", i, got, c.want)
		}
	}
}
