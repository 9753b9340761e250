package attach

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"lazaret.dev/lazaret/internal/term"
)

const (
	// labelColumns is left of every text: what the guest wrote never begins where
	// a label of ours does, however it is wrapped.
	labelColumns = 11
	// promptWidth is the longest line of keys.
	promptWidth = 76
	// A smaller terminal shows too little of a request to decide on it.
	minColumns, minPage = 24, 3

	clearScreen = "\x1b[2J\x1b[H"
)

// show draws the card from its beginning.
func (c *card) show() {
	c.drawnFor = c.size()
	c.below = c.layout(int(c.drawnFor.Cols))
	c.page()
}

// page draws as many of the remaining lines as fit above the keys.
func (c *card) page() {
	n := min(max(1, c.room()), len(c.below))
	_, _ = io.WriteString(c.out, clearScreen+strings.Join(c.below[:n], "\r\n")+"\r\n")
	c.below = c.below[n:]
}

// room is how many lines of the card the terminal shows at once.
func (c *card) room() int {
	size := c.size()
	columns := max(1, int(size.Cols))
	return int(size.Rows) - 1 - (promptWidth+columns-1)/columns
}

// readable says whether all of the card has been on the screen; it tells the
// developer if not.
func (c *card) readable() bool {
	why := ""
	switch {
	case int(c.size().Cols) < minColumns || c.room() < minPage:
		why = "the terminal is too small to show the request"
	case len(c.below) > 0:
		why = "there is more to read"
	default:
		return true
	}
	fmt.Fprintf(c.out, "\r\n  (%s)\r\n", why)
	c.open()
	return false
}

// layout is the card in lines of at most width columns. Every text in it that is
// the guest's is sanitised.
func (c *card) layout(width int) []string {
	p := c.pending
	const bold, plain = "\x1b[1m", "\x1b[0m"
	out := []string{bold + "── the sandbox asks to run a command on this host ──" + plain}
	line := func(name, text string) {
		for i, part := range wrap(text, width-labelColumns) {
			if i > 0 {
				name = ""
			}
			out = append(out, fmt.Sprintf("  %-8s %s", name, part))
		}
	}
	line("command", quoteArgv(c.vector()))
	if c.argv != nil {
		line("", "(edited; asked was: "+quoteArgv(p.Request.Argv)+")")
	}
	switch {
	case c.argv != nil && c.argv[0] != p.Request.Argv[0]:
		line("program", "looked up when it runs")
	case p.ProgramError != "":
		line("program", "not found: "+term.Sanitize(p.ProgramError))
	default:
		line("program", term.Sanitize(p.Program))
	}
	line("in", term.Sanitize(p.HostDir))
	line("as", term.Sanitize(p.HostUser))
	if p.Request.Why != "" {
		line("why", "“"+term.Sanitize(p.Request.Why)+"” (the sandbox says)")
	}
	for _, w := range p.Warnings {
		before := len(out)
		line("warning", term.Sanitize(w))
		for i := before; i < len(out); i++ {
			out[i] = out[i][:labelColumns] + bold + out[i][labelColumns:] + plain
		}
	}
	if left := time.Until(time.Unix(p.ExpiresUnix, 0)); left > 0 {
		line("expires", "denied in "+left.Round(time.Second).String())
	}
	return out
}

// wrap cuts sanitised text into lines of at most width columns. Terminals do not
// agree on the width of anything but ASCII, so all else counts as two: a line may
// end early, but the terminal never wraps one itself.
func wrap(text string, width int) []string {
	width = max(2, width)
	var lines []string
	start, used := 0, 0
	for i, r := range text {
		columns := 2
		switch {
		case r < 0x80:
			columns = 1
		case unicode.In(r, unicode.Mn, unicode.Me):
			columns = 0
		}
		if used+columns > width {
			lines = append(lines, text[start:i])
			start, used = i, 0
		}
		used += columns
	}
	return append(lines, text[start:])
}
