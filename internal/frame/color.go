package frame

// Downgrade returns s as the terminal can show it.
func Downgrade(s Style, p Profile) Style {
	if p.NoBlink {
		s.Attr &^= Blink
	}
	s.FG = downgrade(s.FG, p.Color)
	s.BG = downgrade(s.BG, p.Color)
	return s
}

func downgrade(c Color, level ColorLevel) Color {
	if c.kind == colorDefault || level == TrueColor {
		return c
	}
	if level == NoColor {
		return Color{}
	}
	if r, g, b, ok := c.Components(); ok {
		c = Indexed(nearest256(r, g, b))
	}
	if i := uint8(c.value); level == Color16 && i >= 16 {
		c = Indexed(nearest16(PaletteRGB(i)))
	}
	return c
}

// cubeSteps are the channel values of the 6x6x6 colour cube.
var cubeSteps = [6]int{0, 0x5f, 0x87, 0xaf, 0xd7, 0xff}

// base16 are the first 16 palette colours as xterm has them; the developer's
// terminal may have others, so they only decide which one is nearest.
var base16 = [16][3]uint8{
	{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0},
	{0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0},
	{92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
}

// PaletteRGB returns the usual channels of a palette colour.
func PaletteRGB(i uint8) (r, g, b uint8) {
	switch {
	case i < 16:
		c := base16[i]
		return c[0], c[1], c[2]
	case i < 232:
		i -= 16
		return uint8(cubeSteps[i/36]), uint8(cubeSteps[i/6%6]), uint8(cubeSteps[i%6])
	}
	v := 8 + 10*(i-232)
	return v, v, v
}

// nearest256 returns the cube or grey colour closest to the channels. The first 16
// are left out: what they look like is the developer's choice.
func nearest256(r, g, b uint8) uint8 {
	ri, gi, bi := cubeIndex(r), cubeIndex(g), cubeIndex(b)
	cube := distance(r, g, b, cubeSteps[ri], cubeSteps[gi], cubeSteps[bi])
	mean := (int(r) + int(g) + int(b)) / 3
	gray := min(23, max(0, (mean-3)/10))
	v := 8 + 10*gray
	if distance(r, g, b, v, v, v) < cube {
		return uint8(232 + gray)
	}
	return uint8(16 + 36*ri + 6*gi + bi)
}

func cubeIndex(v uint8) int {
	switch {
	case v < 48:
		return 0
	case v < 115:
		return 1
	}
	return min(5, (int(v)-35)/40)
}

func nearest16(r, g, b uint8) uint8 {
	best, at := 1<<30, 0
	for i, c := range base16 {
		if d := distance(r, g, b, int(c[0]), int(c[1]), int(c[2])); d < best {
			best, at = d, i
		}
	}
	return uint8(at)
}

// distance weighs green most, as the eye does.
func distance(r, g, b uint8, r2, g2, b2 int) int {
	dr, dg, db := int(r)-r2, int(g)-g2, int(b)-b2
	return 2*dr*dr + 4*dg*dg + 3*db*db
}
