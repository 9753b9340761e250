package views_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Wrapping drops nothing but blanks, and no line is too wide for its glyphs to fit.
func TestWrapDropsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab é日🚀 -/ "))).Draw(t, "text")
		width := rapid.IntRange(2, 20).Draw(t, "width")
		lines := views.Wrap(text, width)
		for _, l := range lines {
			if frame.Width(l) > width {
				t.Fatalf("line %q is wider than %d", l, width)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := squeeze(strings.Join(lines, "")); got != squeeze(text) {
			t.Fatalf("%q was wrapped to %q", text, lines)
		}
	})
}

func TestQuoteShowsWhereAnArgumentEnds(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"push": "push", "--force": "--force", "": "«»", "a b": "«a b»", " ": "« »",
		"$(id)": "«$(id)»", "a\nb": `«a\nb»`, "\x1b[2J": `«\x1b[2J»`, "日本": "日本",
	} {
		if got := views.Quote(arg); got != want {
			t.Errorf("Quote(%q) = %s, want %s", arg, got, want)
		}
	}
}

func TestRebind(t *testing.T) {
	t.Parallel()
	table := views.Table{Rows: []views.Binding{
		{Action: "up", Keys: []string{"k", "up"}},
		{Action: "down", Keys: []string{"j", "down"}},
		{Action: "leave", Keys: []string{"q"}},
	}}
	got := table.Rebind(map[string]string{"up": "j", "leave": "", "of-another-table": "down"})
	for chord, want := range map[string]string{"j": "up", "down": "down", "k": "", "up": "", "q": ""} {
		if row, _ := got.Find(chord); row.Action != want {
			t.Errorf("%s is bound to %q, want %q", chord, row.Action, want)
		}
	}
	if row, _ := table.Find("k"); row.Action != "up" {
		t.Error("the original table was changed")
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	g := views.NewGuard(start)
	if g.Take(start.Add(599 * time.Millisecond)) {
		t.Error("taken before the pause")
	}
	if g.Take(start.Add(1198 * time.Millisecond)) {
		t.Error("the early key did not start the wait again")
	}
	late := start.Add(1798 * time.Millisecond)
	for range 2 {
		if !g.Take(late) {
			t.Error("not taken after the pause")
		}
	}
	g.Restart(late)
	if g.Take(late.Add(time.Millisecond)) {
		t.Error("taken after a restart")
	}
}

// Drawing stays inside the canvas, whatever is drawn on it.
func TestCanvasCuts(t *testing.T) {
	t.Parallel()
	theme, err := themes.Lookup("dark", false)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		g := frame.NewGrid(20, 8)
		c := views.Canvas{Grid: g, Theme: theme, Area: frame.Rect{X: 5, Y: 2, W: rapid.IntRange(0, 8).Draw(t, "w"), H: rapid.IntRange(0, 4).Draw(t, "h")}}
		pos := rapid.IntRange(-3, 12)
		sub := c.Sub(frame.Rect{X: pos.Draw(t, "x"), Y: pos.Draw(t, "y"), W: pos.Draw(t, "sw"), H: pos.Draw(t, "sh")})
		sub.Box("日本語 title", "hint", themes.Border)
		sub.Text(pos.Draw(t, "tx"), pos.Draw(t, "ty"), "日本 text that is long", themes.Text)
		for y := range g.H {
			for x := range g.W {
				if !c.Area.Contains(x, y) && g.At(x, y) != frame.Blank(frame.Style{}) {
					t.Fatalf("cell %d,%d outside %+v was drawn on: %+v", x, y, c.Area, g.At(x, y))
				}
			}
		}
	})
}
