package app_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/apptest"
)

func sizeMsg(w, h int) tea.Msg { return app.SizeMsg{W: w, H: h} }

// report is an SGR mouse report; x and y are cells from 0.
func report(button, x, y int, final string) string {
	return fmt.Sprintf("\x1b[<%d;%d;%d%s", button, x+1, y+1, final)
}

func TestClickFocuses(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Keys(report(0, 5, 5, "M"), report(0, 5, 5, "m"), "left")
		mustWrite(t, d.Session(0), "left")
		d.Keys(report(0, 60, 0, "M"), report(0, 60, 0, "m"), "right")
		mustWrite(t, d.Session(1), "right")
	})
}

func TestMouseGoesToProgramsThatAskForIt(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Session(1).Print("\x1b[?1000h\x1b[?1006h")
		d.Settle()
		r := report(0, 50, 6, "M")
		d.Keys(r[:4], r[4:], report(0, 50, 6, "m")) // cut in two reads
		mustWrite(t, d.Session(1), report(0, 50-40, 6-1, "M")+report(0, 50-40, 6-1, "m"))
		mustWrite(t, d.Session(0), "")
	})
}

func TestWheelScrollsHistoryAndTypingReturns(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		for i := range 100 {
			d.Session(0).Print(fmt.Sprintf("line %d\r\n", i))
		}
		d.Settle()
		mustShow(t, d, "line 99")
		d.Keys(report(64, 5, 5, "M"), report(64, 5, 5, "M"))
		mustShow(t, d, "↑6 lines", "line 75")
		mustNotShow(t, d, "line 99")
		d.Session(0).Print("line 100\r\n") // output does not move what is read
		d.Settle()
		mustShow(t, d, "↑7 lines", "line 75")
		mustWrite(t, d.Session(0), "")
		d.Type("x")
		mustShow(t, d, "line 100")
		mustNotShow(t, d, "↑")
	})
}

func TestWheelPastTheEndStaysInThePane(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		for range 10 {
			d.Type(report(65, 60, 5, "M"))
			d.Type(report(64, 60, 5, "M"))
		}
		d.Type("still here")
		mustWrite(t, d.Session(1), "still here")
	})
}

func TestWheelInAFullScreenProgramMovesTheCursor(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("\x1b[?1049h")
		d.Settle()
		d.Type(report(64, 5, 5, "M"))
		mustWrite(t, d.Session(0), "\x1b[A\x1b[A\x1b[A")
	})
}

func copied(t *testing.T, d *apptest.Driver) string {
	t.Helper()
	c := d.Screen.ControlBytes()
	_, c, ok := strings.Cut(c, "\x1b]52;c;")
	c, _, end := strings.Cut(c, "\x07")
	b, err := base64.StdEncoding.DecodeString(c)
	if !ok || !end || err != nil {
		t.Fatalf("nothing was copied: %q", d.Screen.ControlBytes())
	}
	return string(b)
}

// Selecting over a pane's edge copies no border and no blanks that only fill.
func TestDragSelectsWithinThePane(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("first line\r\nsecond 日本 line\r\nthird")
		d.Leader("|")
		d.Keys(report(0, 6, 1, "M"), report(32, 70, 2, "M"), report(0, 70, 2, "m"))
		if got := copied(t, d); got != "line\nsecond 日本 line" {
			t.Errorf("copied %q", got)
		}
	})
}

func TestCopyModeKeys(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("alpha\r\nbeta\r\ngamma\r\n")
		d.Settle()
		d.Leader("[")
		d.Keys("/", "beta", "\r", "V", "j", "y")
		if got := copied(t, d); got != "beta\ngamma" {
			t.Errorf("copied %q", got)
		}
		d.Leader("]")
		mustWrite(t, d.Session(0), "beta\ngamma")
	})
}

func TestDraggingTheLineResizes(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Keys(report(0, 39, 5, "M"), report(32, 49, 5, "M"), report(0, 49, 5, "m"))
		sizes := d.Session(0).Sizes()
		if len(sizes) == 0 || sizes[len(sizes)-1].Cols < 46 || sizes[len(sizes)-1].Cols > 50 {
			t.Errorf("the left pane was given %v", sizes)
		}
	})
}

func TestMouseNeverDecides(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push"))
		openCard(d)
		for y := range 24 {
			for x := 0; x < 80; x += 4 {
				d.Keys(report(0, x, y, "M"), report(0, x, y, "m"))
			}
		}
		undecided(t, d)
		mustWrite(t, d.Session(0), "")
	})
}
