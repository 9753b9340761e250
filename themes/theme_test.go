package themes_test

import (
	"math"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
)

func luminance(c frame.Color) float64 {
	r, g, b, _ := c.Components()
	lin := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.03928 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

func ratio(a, b frame.Color) float64 {
	x, y := luminance(a), luminance(b)
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}

// WCAG 2.1 §1.4.3 and §1.4.11: 4.5 for text, 3 for lines.
func TestContrast(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, name := range []string{"dark", "light", "high-contrast"} {
		theme, err := themes.Lookup(name, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range themes.Tokens() {
			s := theme.Style(k)
			if _, _, _, ok := s.FG.Components(); !ok {
				t.Errorf("%s: token %d has no colour of its own, so its contrast is unknown", name, k)
				continue
			}
			want := 4.5
			if k == themes.Border || k == themes.BorderFocused {
				want = 3
			}
			if got := ratio(s.FG, s.BG); got < want {
				t.Errorf("%s: token %d has contrast %.2f, want at least %.1f", name, k, got, want)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Fatal("no token was checked")
	}
}

func TestTerminal16UsesTheTerminalsColours(t *testing.T) {
	t.Parallel()
	theme, _ := themes.Lookup("terminal-16", false)
	for _, k := range themes.Tokens() {
		s := theme.Style(k)
		for _, c := range []frame.Color{s.FG, s.BG} {
			if i, ok := c.Index(); !c.IsDefault() && (!ok || i > 15) {
				t.Errorf("token %d uses a colour outside the sixteen", k)
			}
		}
		if !s.FG.IsDefault() && s.FG == s.BG {
			t.Errorf("token %d is invisible", k)
		}
	}
}

// Without colour the tokens that mean something must still look different.
func TestColourIsNeverTheOnlyCarrier(t *testing.T) {
	t.Parallel()
	theme, err := themes.Lookup("dark", true)
	if err != nil {
		t.Fatal(err)
	}
	plain := theme.Style(themes.Text).Attr
	for _, k := range themes.Tokens() {
		s := theme.Style(k)
		if !s.FG.IsDefault() || !s.BG.IsDefault() {
			t.Errorf("NO_COLOR: token %d still has a colour", k)
		}
	}
	for _, k := range []themes.Token{
		themes.BorderFocused, themes.TitleFocused, themes.DockAlert, themes.Selected, themes.Key,
		themes.Danger, themes.Warning, themes.FieldCursor, themes.Marked, themes.Match,
	} {
		if theme.Style(k).Attr == plain {
			t.Errorf("NO_COLOR: token %d looks like plain text", k)
		}
	}
	if theme.Style(themes.Title) == theme.Style(themes.TitleFocused) {
		t.Error("NO_COLOR: the focused title looks like the others")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	if theme, err := themes.Lookup("", false); err != nil || theme.Name != "dark" {
		t.Fatalf("Lookup of the default = %q, %v", theme.Name, err)
	}
	_, err := themes.Lookup("solarized", false)
	if err == nil || fault.FixOf(err) == "" {
		t.Fatalf("Lookup of an unknown theme = %v, want an error with its fix", err)
	}
}
