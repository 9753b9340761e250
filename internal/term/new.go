package term

import (
	"time"

	"lazaret.dev/lazaret/internal/frame"
)

// Engine names the screen an emulator keeps its cells in.
type Engine string

// The engines, as written in the configuration ([ui] emulator).
const (
	VT10x  Engine = "vt10x"
	Native Engine = "native"
)

// Options say how an emulator behaves; the zero value is usable.
type Options struct {
	Engine          Engine           // VT10x when empty
	Scrollback      int              // lines kept; 0 means DefaultScrollback, below 0 none
	ScrollbackBytes int              // their memory; 0 means DefaultScrollbackBytes
	Palette         Palette          // what colour queries are answered with
	Clock           func() time.Time // time.Now when nil
	SyncDeadline    time.Duration    // how long a program may hold a frame; 0 means DefaultSyncDeadline
	Name            string           // the answer to XTVERSION; "lazaret" when empty
	// NarrowSelector counts a character followed by VS16 as wide as the character
	// alone, for outer terminals that do the same (no mode 2027).
	NarrowSelector bool
}

// The limits that hold when Options leaves them open.
const (
	DefaultScrollback      = 10000
	DefaultScrollbackBytes = 16 << 20
	DefaultSyncDeadline    = 200 * time.Millisecond
)

// RGB is a colour in 8-bit channels.
type RGB struct{ R, G, B uint8 }

// Palette is what the program is told when it asks for the terminal's colours. The
// zero value is a dark terminal.
type Palette struct {
	Foreground, Background, Cursor RGB
	ANSI                           [16]RGB
}

func (p Palette) color(i uint8) RGB {
	if i < 16 {
		return p.ANSI[i]
	}
	var c RGB
	c.R, c.G, c.B = frame.PaletteRGB(i)
	return c
}
