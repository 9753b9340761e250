package attach

import (
	"fmt"
	"io"
	"strings"
	"time"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
)

// card asks for a decision about one request, in the terminal:
//
//	opening ── no key for cardPause ──► choosing ── a ──► decided
//	                                      │ Enter ──► the next page, opening
//	                                      │ d ──► reason ── line ──► decided
//	                                      │ e ──► editing ── a line each ──► choosing
//	                                      │ q ──► confirming ── y ──► decided
//
// A key is one byte that came alone: a paste or a burst is never a decision, it
// only makes the card wait for another pause. A card that is longer than the
// terminal is approved or edited on its last page only: what was never on the
// screen is never approved.
type card struct {
	pending  escalate.Pending
	argv     []string // as edited; nil: as asked
	state    cardState
	edited   []string // while editing: what was taken so far
	below    []string // lines not shown yet
	out      io.Writer
	size     func() wire.Size
	drawnFor wire.Size
	lines    func(on bool) // line input with echo, or single keys
	timer    <-chan time.Time
	expires  <-chan time.Time
	answer   answer
	said     string // why it went away without an answer
	done     bool
}

type cardState int

const (
	opening cardState = iota
	choosing
	reason
	editing
	confirming
)

type answer struct {
	verdict escalate.Verdict // 0: none, the request went away
	reason  string
}

func newCard(p client.Pending, out io.Writer, size func() wire.Size, lines func(bool)) *card {
	c := &card{pending: p.Pending, out: out, size: size, lines: lines}
	c.expires = time.After(time.Until(time.Unix(p.Pending.ExpiresUnix, 0)))
	c.show()
	c.open()
	return c
}

// open makes the card wait for a pause.
func (c *card) open() {
	c.state = opening
	c.timer = time.After(cardPause)
}

func (c *card) tick() {
	if c.state == opening {
		c.state, c.timer = choosing, nil
		if n := len(c.below); n > 0 {
			fmt.Fprintf(c.out, "  Enter: the other %d lines   d deny   q deny and end the session  > ", n)
			return
		}
		fmt.Fprint(c.out, "  a approve   d deny   e edit   q deny and end the session  > ")
	}
}

func (c *card) vector() []string {
	if c.argv != nil {
		return c.argv
	}
	return c.pending.Request.Argv
}

// key handles what was typed while the card is shown.
func (c *card) key(chunk []byte) {
	switch c.state {
	case opening:
		c.open()
	case choosing:
		if len(chunk) == 1 {
			c.choose(chunk[0])
		} else {
			fmt.Fprint(c.out, "\r\n  (that was no single key)\r\n")
			c.open()
		}
	case confirming:
		if len(chunk) == 1 && chunk[0] == 'y' {
			c.decide(escalate.VerdictAbort, "")
			return
		}
		fmt.Fprint(c.out, "no\r\n")
		c.open()
	case reason:
		c.lines(false)
		c.decide(escalate.VerdictDeny, strings.TrimRight(string(chunk), "\r\n"))
	case editing:
		c.edit(strings.TrimRight(string(chunk), "\r\n"))
	}
}

func (c *card) choose(key byte) {
	if (key == 'a' || key == 'e') && !c.readable() {
		return
	}
	switch key {
	case '\r', '\n', ' ':
		if len(c.below) > 0 {
			c.page()
			c.open()
		}
	case 'a':
		c.decide(escalate.VerdictApprove, "")
	case 'd':
		c.state = reason
		c.lines(true)
		fmt.Fprint(c.out, "deny\n  reason (Enter for none): ")
	case 'e':
		c.state, c.edited = editing, nil
		c.lines(true)
		fmt.Fprint(c.out, "edit: Enter keeps an argument, a single - removes it, \"\" makes it empty\n")
		c.askArgument()
	case 'q':
		c.state = confirming
		fmt.Fprint(c.out, "deny and end the session: y to confirm > ")
	}
}

// edit takes one line for the argument it was asked for.
func (c *card) edit(text string) {
	old := c.vector()
	if at := c.position(); at < len(old) {
		switch text {
		case "":
			c.edited = append(c.edited, old[at])
		case "-":
			c.edited = append(c.edited, removed)
		case `""`:
			c.edited = append(c.edited, "")
		default:
			c.edited = append(c.edited, text)
		}
		c.askArgument()
		return
	}
	if text != "" {
		c.edited = append(c.edited, text)
		c.askArgument()
		return
	}
	c.finishEdit()
}

// removed marks an argument that was taken out; no argument can contain a NUL.
const removed = "\x00"

func (c *card) position() int { return len(c.edited) }

func (c *card) askArgument() {
	old := c.vector()
	if at := c.position(); at < len(old) {
		fmt.Fprintf(c.out, "  [%d] %s > ", at, quote(old[at]))
	} else {
		fmt.Fprintf(c.out, "  [%d] one more (Enter for none) > ", at)
	}
}

func (c *card) finishEdit() {
	var argv []string
	for _, a := range c.edited {
		if a != removed {
			argv = append(argv, a)
		}
	}
	c.lines(false)
	if len(argv) == 0 {
		fmt.Fprint(c.out, "\r\n  nothing is left to run; the command is as before\r\n")
	} else {
		c.argv = argv
	}
	c.show()
	c.open()
}

// cancel leaves what was being typed, as Ctrl-C does.
func (c *card) cancel() {
	c.lines(false)
	c.show()
	c.open()
}

// resized begins again: what was read is not where it was.
func (c *card) resized() {
	if c.size() != c.drawnFor && (c.state == opening || c.state == choosing) {
		c.show()
		c.open()
	}
}

func (c *card) decide(v escalate.Verdict, why string) {
	c.answer = answer{verdict: v, reason: why}
	c.done = true
}

// withdraw takes the card away without a decision.
func (c *card) withdraw(why string) {
	c.lines(false)
	c.said = why
	c.done = true
}
