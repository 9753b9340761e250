package frame

// ColorLevel is how many colours the developer's terminal shows.
type ColorLevel uint8

// The colour levels, best first. The zero value is TrueColor.
const (
	TrueColor ColorLevel = 0
	Color256  ColorLevel = 1
	Color16   ColorLevel = 2
	NoColor   ColorLevel = 3 // attributes only, as NO_COLOR asks
)

// Profile is what the developer's terminal can do.
type Profile struct {
	Color   ColorLevel
	Sync    bool // it knows synchronized output (mode 2026)
	NoBlink bool // drop the blink attribute
}
