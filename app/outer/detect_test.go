package outer_test

import (
	"testing"

	"lazaret.dev/lazaret/app/outer"
	"lazaret.dev/lazaret/internal/frame"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want frame.ColorLevel
	}{
		"truecolor announced": {map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, frame.TrueColor},
		"256 colours":         {map[string]string{"TERM": "tmux-256color"}, frame.Color256},
		"plain xterm":         {map[string]string{"TERM": "xterm"}, frame.Color16},
		"linux console":       {map[string]string{"TERM": "linux"}, frame.Color16},
		"vt100":               {map[string]string{"TERM": "vt100"}, frame.NoColor},
		"NO_COLOR wins":       {map[string]string{"TERM": "xterm-kitty", "COLORTERM": "truecolor", "NO_COLOR": "1"}, frame.NoColor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := outer.Detect(func(k string) string { return c.env[k] }); got.Color != c.want {
				t.Errorf("colour level = %d, want %d", got.Color, c.want)
			}
		})
	}
}
