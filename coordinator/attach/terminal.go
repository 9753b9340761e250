package attach

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/fault"
)

// Size returns the size of the terminal f, at least 1 by 1.
func Size(f *os.File) wire.Size {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return wire.Size{Rows: 24, Cols: 80}
	}
	return wire.Size{Rows: uint16(clamp(rows)), Cols: uint16(clamp(cols))}
}

func clamp(n int) int { return min(max(n, 1), 65535) }

// IsTerminal says whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

const (
	inputQueue = 16 // chunks waiting for credit; then the terminal is not read
	// heldBytes is how much output waits behind a card; then the session is not
	// read, and the program inside waits.
	heldBytes = 1 << 20
	// cardPause is how long no key may come before a card takes one.
	cardPause = 500 * time.Millisecond
)

// console is one session on one terminal. Everything but reading keys and sending
// them happens in run's goroutine.
type console struct {
	session  Session
	in, out  *os.File
	cooked   *term.State
	modes    modes
	escapes  escapes
	keys     chan []byte // from the terminal
	toSend   chan []byte // to the session
	sendMore bool        // a chunk is waiting for room in toSend
	waiting  []byte

	waitingCards []client.Pending
	card         *card // shown now; nil: forwarding
	held         []byte
	last         client.Event // the session's end, when it came behind a card
	ending       bool
}

// Terminal connects the session to the terminal until it ends, and returns the
// command's exit status.
func Terminal(ctx context.Context, s Session, in, out *os.File) (int, error) {
	cooked, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return 0, &fault.Error{Kind: fault.General, Message: "the terminal cannot be set to raw mode", Err: err,
			Fix: "run without a terminal: lazaret run --no-tty"}
	}
	c := &console{
		session: s, in: in, out: out, cooked: cooked,
		keys: make(chan []byte), toSend: make(chan []byte, inputQueue),
	}
	defer c.restore()
	quit := make(chan struct{})
	defer close(quit)
	go c.readKeys(quit)
	go c.sendKeys(quit)
	return c.run(ctx)
}

// restore gives the terminal back as it was.
func (c *console) restore() {
	if c.card != nil {
		_, _ = c.out.WriteString(leaveCard)
	}
	_, _ = c.out.WriteString(c.neutral())
	_ = term.Restore(int(c.in.Fd()), c.cooked)
}

// raw takes the terminal (again) and has the program draw itself anew.
func (c *console) raw() {
	if _, err := term.MakeRaw(int(c.in.Fd())); err != nil {
		return
	}
	if c.card != nil {
		_, _ = c.out.WriteString(enterCard)
		c.card.cancel()
		return
	}
	_, _ = c.out.WriteString(c.modes.resume())
	c.redraw()
}

// neutral makes the terminal the usual one, whatever the program did to it.
func (c *console) neutral() string { return unfinished + c.modes.suspend() + neutral }

// redraw makes the program repaint: the same size again would be no change, so
// the terminal is one row shorter for a moment.
func (c *console) redraw() {
	size := Size(c.out)
	if size.Rows > 1 {
		_ = c.session.Resize(wire.Size{Rows: size.Rows - 1, Cols: size.Cols})
	}
	_ = c.session.Resize(size)
}

func (c *console) readKeys(quit chan struct{}) {
	for {
		buffer := make([]byte, 4096)
		n, err := c.in.Read(buffer)
		if n > 0 {
			select {
			case c.keys <- buffer[:n]:
			case <-quit:
				return
			}
		}
		if err != nil {
			close(c.keys)
			return
		}
	}
}

// sendKeys is the one writer of the session's input.
func (c *console) sendKeys(quit chan struct{}) {
	for {
		select {
		case chunk := <-c.toSend:
			if _, err := c.session.Write(chunk); err != nil {
				return
			}
		case <-quit:
			return
		}
	}
}

func (c *console) run(ctx context.Context) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGTSTP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	done := ctx.Done()
	for c.last == nil || c.card != nil {
		select {
		case e, ok := <-c.events():
			if !ok {
				e = client.Lost{}
			}
			c.event(e)
		case chunk, ok := <-c.input():
			if !ok {
				c.end()
				c.keys = nil
				continue
			}
			c.key(chunk)
		case c.sendTo() <- c.waiting:
			c.sendMore, c.waiting = false, nil
		case sig := <-signals:
			c.signal(sig.(unix.Signal))
		case <-c.cardTimer():
			c.card.tick()
		case <-c.cardExpiry():
			c.card.withdraw("nobody decided in time: denied")
		case <-done:
			done = nil
			c.end()
		}
		c.settleCard()
	}
	c.flush()
	return status(c.last)
}

// events is the session's events, unless too much is held behind a card already.
func (c *console) events() <-chan client.Event {
	if len(c.held) >= heldBytes || c.last != nil {
		return nil
	}
	return c.session.Events()
}

// input is the keys, unless the session has not taken the last ones yet.
func (c *console) input() <-chan []byte {
	if c.sendMore && c.card == nil {
		return nil
	}
	return c.keys
}

func (c *console) sendTo() chan<- []byte {
	if !c.sendMore {
		return nil
	}
	return c.toSend
}

func (c *console) cardTimer() <-chan time.Time {
	if c.card == nil {
		return nil
	}
	return c.card.timer
}

// cardExpiry takes the card away by our own clock: the message that it expired may
// be behind output that is not read meanwhile.
func (c *console) cardExpiry() <-chan time.Time {
	if c.card == nil {
		return nil
	}
	return c.card.expires
}

func (c *console) event(e client.Event) {
	switch e := e.(type) {
	case client.Output:
		if c.card != nil {
			c.held = append(c.held, e.Data...)
			return
		}
		c.write(e.Data)
	case client.Pending:
		c.waitingCards = append(c.waitingCards, e)
	case client.Resolved:
		c.resolved(e)
	case client.Notice:
		if e.Level != wire.LevelInfo || !c.started() {
			c.line(noticeLine(e))
		}
	case client.Exit, client.Lost:
		c.last = e
		c.waitingCards = nil
		if c.card != nil {
			c.card.withdraw("the session ended")
		}
	}
}

// started says whether the program has drawn anything: progress lines would then
// be in its way.
func (c *console) started() bool { return len(c.modes.changed) > 0 }

func (c *console) write(data []byte) {
	c.modes.observe(data)
	_, _ = c.out.Write(data)
}

// line prints one line of ours.
func (c *console) line(text string) {
	if c.card == nil {
		fmt.Fprintf(c.out, "\r\n\x1b[0m%s\r\n", text)
	}
}

func (c *console) flush() {
	c.write(c.held)
	c.held = nil
}

// key handles input: it is the card's while one is shown, else the program's.
func (c *console) key(chunk []byte) {
	if c.card != nil {
		c.card.key(chunk)
		return
	}
	pass, command := c.escapes.filter(chunk)
	if len(pass) > 0 {
		c.sendMore, c.waiting = true, pass
	}
	switch command {
	case escapeEnd:
		c.end()
	case escapeSuspend:
		c.suspend()
	}
}

// end asks for the end of the session; asked twice, it drops the connection.
func (c *console) end() {
	if c.ending {
		_ = c.session.Close()
		return
	}
	c.ending = true
	_ = c.session.End()
}

func (c *console) signal(sig unix.Signal) {
	switch sig {
	case unix.SIGWINCH:
		_ = c.session.Resize(Size(c.out))
		if c.card != nil {
			c.card.resized()
		}
	case unix.SIGTSTP:
		c.suspend()
	case unix.SIGINT, unix.SIGQUIT:
		if c.card != nil {
			c.card.cancel()
			return
		}
		event, _ := eventOf(sig)
		_ = c.session.Signal(event)
	default:
		c.end()
	}
}
