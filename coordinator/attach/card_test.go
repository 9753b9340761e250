package attach_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
)

// TestCardIsApprovedOnItsLastPage: what was never on the screen cannot be
// approved. Its twin is every short card.
func TestCardIsApprovedOnItsLastPage(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- pending("sh", "-c", strings.Repeat("rm -r x; ", 400))
	c.awaitDrawn("the sandbox asks")
	for range 4 {
		c.awaitDrawn("Enter: the other ")
		c.awaitDrawn("end the session  > ")
		c.press("a")
		c.awaitDrawn("there is more to read")
		c.awaitDrawn("end the session  > ")
		if strings.Contains(c.called(), "decide") {
			t.Fatalf("taken: %q", c.called())
		}
		c.press("\r")
		if strings.Contains(c.upTo("runs project code", "Enter: the other "), "runs project code") {
			break
		}
	}
	c.awaitDrawn("a approve")
	c.awaitDrawn(prompt)
	c.press("a")
	c.await(t, "decision", func() bool { return strings.Contains(c.called(), fmt.Sprintf("decide %s 1", id)) })
}

// upTo waits until the terminal shows one of texts and returns all that came.
func (c *console) upTo(texts ...string) string {
	c.t.Helper()
	late := time.After(limit)
	for {
		drawn := c.drawn()
		for _, text := range texts {
			if strings.Contains(drawn, text) {
				return drawn
			}
		}
		select {
		case <-c.grown:
		case <-late:
			c.t.Fatalf("terminal shows none of %q, but %q", texts, drawn)
		}
	}
}

func TestCardOnATinyTerminalIsNotApproved(t *testing.T) {
	t.Parallel()
	c := attached(t)
	if err := pty.Setsize(c.master, &pty.Winsize{Rows: 1, Cols: 1}); err != nil {
		t.Fatal(err)
	}
	c.events <- pending("ls")
	c.awaitDrawn("end the session  > ")
	c.press("a")
	c.awaitDrawn("too small")
	c.awaitDrawn("end the session  > ")
	if strings.Contains(c.called(), "decide") {
		t.Errorf("taken: %q", c.called())
	}
	c.press("d")
	c.awaitDrawn("reason")
	c.press("\n")
	c.await(t, "decision", func() bool { return strings.Contains(c.called(), fmt.Sprintf("decide %s 2", id)) })
}

// TestCardIsDrawnWhateverTheTerminalWasToldBefore: a string left open, a scrolling
// region of one line, concealed text and another character set are undone first.
func TestCardIsDrawnWhateverTheTerminalWasToldBefore(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- client.Output{Stream: wire.StreamTTY, Data: []byte("\x1b[24;24r\x1b[8m\x1b(0\x1b[?2026h\x1b]11;black\x07\x1b]0;swallow")}
	c.awaitDrawn("swallow")
	c.events <- pending("git", "push")
	before, _, _ := strings.Cut(c.upTo("the sandbox asks"), "the sandbox asks")
	at := 0
	for _, want := range []string{"\x18", "\x1b\\", "\x1b[?2026l", "\x1b(B", "\x1b[0m", "\x1b]111\x1b\\", "\x1b[r", "\x1b[?1049h", "\x1b[2J"} {
		i := strings.Index(before[at:], want)
		if i < 0 {
			t.Fatalf("%q is not undone in turn: %q", want, before)
		}
		at += i
	}
}

// TestGuestTextNeverBeginsWhereALabelDoes: blanks in an argument cannot lay out a
// second, false card by the way the terminal wraps them.
func TestGuestTextNeverBeginsWhereALabelDoes(t *testing.T) {
	t.Parallel()
	c := attached(t)
	fake := strings.Repeat(" ", 66) + "  command  ls" + strings.Repeat(" ", 67)
	c.events <- pending("rm", "-rf", fake+fake, strings.Repeat("界é", 60)+"  command  ls")
	drawn := c.upTo(prompt)
	card := drawn[strings.Index(drawn, "the sandbox asks"):]
	label := regexp.MustCompile(`^  (command|program|in|as|why|warning|expires) +`)
	labels := 0
	for _, line := range strings.Split(card, "\r\n")[1:] {
		if strings.Contains(line, prompt) {
			break
		}
		if label.MatchString(line) {
			labels++
		} else if !strings.HasPrefix(line, strings.Repeat(" ", 11)) {
			t.Errorf("guest text at the left: %q", line)
		}
	}
	if labels != 7 {
		t.Errorf("%d labels in:\n%s", labels, card)
	}
}
