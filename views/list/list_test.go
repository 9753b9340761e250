package list_test

import (
	"testing"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/views/list"
)

func TestCursorStaysInTheWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l list.List
		rows, height := 0, 1
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				rows = rapid.IntRange(0, 50).Draw(t, "rows")
				l.SetLen(rows)
			case 1:
				height = rapid.IntRange(1, 20).Draw(t, "height")
				l.SetHeight(height)
			case 2:
				l.Move(rapid.IntRange(-60, 60).Draw(t, "by"))
			case 3:
				l.Key(rapid.SampledFrom([]string{"up", "down", "pgup", "pgdown", "home", "end"}).Draw(t, "key"))
			}
			c := l.Cursor()
			if rows == 0 {
				if c != -1 {
					t.Fatalf("cursor %d in an empty list", c)
				}
				continue
			}
			if c < l.Top() || c >= l.Top()+height || c >= rows {
				t.Fatalf("cursor %d outside window %d+%d of %d rows", c, l.Top(), height, rows)
			}
		}
	})
}
