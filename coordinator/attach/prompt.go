package attach

import (
	"fmt"

	"golang.org/x/sys/unix"
	tty "golang.org/x/term"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/term"
)

// settleCard opens the next card when none is shown, and takes away the one that
// is done.
func (c *console) settleCard() {
	if c.card != nil && c.card.done {
		c.closeCard()
	}
	if c.card == nil && len(c.waitingCards) > 0 && c.last == nil {
		next := c.waitingCards[0]
		c.waitingCards = c.waitingCards[1:]
		c.openCard(next)
	}
}

// The card has a screen of its own, and key reporting as in a plain terminal;
// afterwards what was there before is back.
const (
	enterCard = "\x1b[?1049h\x1b[>0u"
	leaveCard = "\x1b[<u\x1b[?1049l"
)

// openCard suspends forwarding both ways and asks. What was typed before is
// dropped: it was not typed at the card.
func (c *console) openCard(p client.Pending) {
	_ = unix.IoctlSetInt(int(c.in.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	_, _ = c.out.WriteString(c.neutral() + enterCard)
	c.card = newCard(p, c.out, func() wire.Size { return Size(c.out) }, c.lineInput)
}

// closeCard sends the answer and gives the terminal back to the program.
func (c *console) closeCard() {
	done := c.card
	c.card = nil
	said := done.said
	if done.answer.verdict != 0 {
		said = c.decide(done)
	}
	_, _ = c.out.WriteString(leaveCard)
	fmt.Fprintf(c.out, "\r\nlazaret: %s: %s\r\n", cut(quoteArgv(done.vector())), said)
	_, _ = c.out.WriteString(c.modes.resume())
	c.flush()
	c.redraw()
}

// cut keeps the line that says what became of a request short.
func cut(text string) string { return term.SanitizeLine(text, 60) }

// decide sends the answer and says what it was.
func (c *console) decide(done *card) string {
	said := map[escalate.Verdict]string{
		escalate.VerdictApprove: "approved", escalate.VerdictDeny: "denied", escalate.VerdictAbort: "denied; ending the session",
	}[done.answer.verdict]
	if err := c.session.Decide(done.pending, done.answer.verdict, done.argv, done.answer.reason); err != nil {
		said = "the decision could not be sent: " + err.Error()
	}
	return said
}

// resolved takes a request that ended some other way (expired, withdrawn) off the
// terminal.
func (c *console) resolved(r client.Resolved) {
	if c.card != nil && c.card.pending.Request.ID == r.Request {
		c.card.withdraw(resolvedLine(r))
		return
	}
	for i, p := range c.waitingCards {
		if p.Pending.Request.ID == r.Request {
			c.waitingCards = append(c.waitingCards[:i:i], c.waitingCards[i+1:]...)
			return
		}
	}
}

// lineInput switches between line input with echo and single keys.
func (c *console) lineInput(on bool) {
	if on {
		_ = tty.Restore(int(c.in.Fd()), c.cooked)
		return
	}
	_, _ = tty.MakeRaw(int(c.in.Fd()))
}
