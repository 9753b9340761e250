package outer

import (
	"strings"

	"lazaret.dev/lazaret/internal/frame"
)

// Detect says how many colours the terminal shows, from the environment alone:
// asking the terminal would cost a round trip before the first picture, and running
// a program to find out is not worth it. NO_COLOR (no-color.org) wins when it is set
// to anything.
func Detect(env func(string) string) frame.Profile {
	term, colour := env("TERM"), env("COLORTERM")
	p := frame.Profile{Color: frame.Color16}
	switch {
	case env("NO_COLOR") != "":
		p.Color = frame.NoColor
	case colour == "truecolor" || colour == "24bit":
		p.Color = frame.TrueColor
	case strings.HasSuffix(term, "-direct"), strings.HasPrefix(term, "xterm-kitty"), strings.HasPrefix(term, "xterm-ghostty"),
		strings.HasPrefix(term, "foot"), strings.HasPrefix(term, "alacritty"), strings.HasPrefix(term, "wezterm"):
		p.Color = frame.TrueColor
	case strings.Contains(term, "256color"):
		p.Color = frame.Color256
	case term == "dumb", strings.HasPrefix(term, "vt1"), strings.HasPrefix(term, "vt2"):
		p.Color = frame.NoColor
	}
	return p
}
