package attach

import (
	"fmt"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/escalate"
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

// openCard suspends forwarding both ways and asks. What was typed before is
// dropped: it was not typed at the card.
func (c *console) openCard(p client.Pending) {
	unix.IoctlSetInt(int(c.in.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	c.out.WriteString(c.modes.suspend())
	c.card = newCard(p, c.out, c.lineInput)
}

// closeCard sends the answer and gives the terminal back to the program.
func (c *console) closeCard() {
	done := c.card
	c.card = nil
	if done.answer.verdict != 0 {
		c.decide(done)
	}
	c.out.WriteString(c.modes.resume())
	c.flush()
	c.redraw()
}

func (c *console) decide(done *card) {
	said := map[escalate.Verdict]string{
		escalate.VerdictApprove: "approved", escalate.VerdictDeny: "denied", escalate.VerdictAbort: "denied; ending the session",
	}[done.answer.verdict]
	if err := c.session.Decide(done.pending, done.answer.verdict, done.argv, done.answer.reason); err != nil {
		said = "the decision could not be sent: " + err.Error()
	}
	fmt.Fprintf(c.out, "%s\r\n", said)
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
		term.Restore(int(c.in.Fd()), c.cooked)
		return
	}
	term.MakeRaw(int(c.in.Fd()))
}
