package attach_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/attach"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/fault"
)

const limit = 15 * time.Second

// session is a session that records what is asked of it.
type session struct {
	events chan client.Event

	mu      sync.Mutex
	input   bytes.Buffer
	calls   []string
	changed chan struct{}
}

func newSession() *session {
	return &session{events: make(chan client.Event, 64), changed: make(chan struct{}, 1)}
}

func (s *session) record(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	s.touch()
	return nil
}

func (s *session) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *session) Events() <-chan client.Event { return s.events }

func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touch()
	return s.input.Write(p)
}

func (s *session) CloseInput() error { return s.record("close input") }
func (s *session) Resize(size wire.Size) error {
	return s.record(fmt.Sprintf("resize %dx%d", size.Cols, size.Rows))
}
func (s *session) Signal(e wire.SignalEvent) error { return s.record(fmt.Sprintf("signal %d", e)) }
func (s *session) End() error                      { return s.record("end") }
func (s *session) Close() error                    { return s.record("close") }

func (s *session) Decide(p escalate.Pending, v escalate.Verdict, argv []string, reason string) error {
	return s.record(fmt.Sprintf("decide %s %d %q %q", p.Request.ID, v, argv, reason))
}

func (s *session) typed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.input.String()
}

func (s *session) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, "\n")
}

// await waits until what s was asked satisfies ok.
func (s *session) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(limit)
	for !ok() {
		select {
		case <-s.changed:
		case <-late:
			t.Fatalf("no %s; typed %q, called:\n%s", what, s.typed(), s.called())
		}
	}
}

// console is a session attached to one side of a pseudo-terminal.
type console struct {
	*session
	t      *testing.T
	master *os.File
	slave  *os.File
	before unix.Termios

	mu     sync.Mutex
	screen bytes.Buffer
	grown  chan struct{}
	code   int
	err    error
	done   chan struct{}
}

func attached(t *testing.T) *console {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	c := &console{session: newSession(), t: t, master: master, slave: slave,
		grown: make(chan struct{}, 1), done: make(chan struct{})}
	c.before = termios(t, slave)
	go c.read()
	go func() {
		defer close(c.done)
		c.code, c.err = attach.Terminal(context.Background(), c.session, slave, slave)
	}()
	t.Cleanup(func() { c.finish(client.Exit{}) })
	c.events <- client.Output{Stream: wire.StreamTTY, Data: []byte("attached")}
	c.awaitDrawn("attached") // raw mode and signal handlers are there
	return c
}

func termios(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *state
}

func (c *console) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := c.master.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.screen.Write(buffer[:n])
		c.mu.Unlock()
		select {
		case c.grown <- struct{}{}:
		default:
		}
	}
}

func (c *console) drawn() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.String()
}

// awaitDrawn waits until the terminal shows text and forgets what came before it.
func (c *console) awaitDrawn(text string) {
	c.t.Helper()
	late := time.After(limit)
	for {
		c.mu.Lock()
		if i := bytes.Index(c.screen.Bytes(), []byte(text)); i >= 0 {
			c.screen.Next(i + len(text))
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		select {
		case <-c.grown:
		case <-late:
			c.t.Fatalf("terminal never shows %q, but %q", text, c.drawn())
		}
	}
}

func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// finish ends the session and waits for Terminal.
func (c *console) finish(last client.Event) (int, error) {
	c.t.Helper()
	select {
	case <-c.done:
		return c.code, c.err
	default:
	}
	c.events <- last
	select {
	case <-c.done:
	case <-time.After(limit):
		c.t.Fatal("Terminal does not return")
	}
	return c.code, c.err
}

func pending(argv ...string) client.Pending {
	return client.Pending{Pending: escalate.Pending{
		Request: escalate.Request{Argv: argv, ID: id, Dir: ".", Why: "because"},
		Program: "/usr/bin/" + argv[0], HostDir: "/w", HostUser: "dev",
		ExpiresUnix: time.Now().Add(time.Hour).Unix(), Warnings: []string{"runs project code"},
	}}
}

const prompt = "end the session  > "

func TestTerminalPassesBothWaysAndComesBackAsItWas(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- client.Output{Stream: wire.StreamTTY, Data: []byte("hello \x1b[?1049h\x1b[?25l")}
	c.awaitDrawn("hello")
	c.press("ls\r\x03\x1a")
	c.await(t, "input", func() bool { return c.typed() == "ls\r\x03\x1a" })
	if code, err := c.finish(client.Exit{Code: 42}); code != 42 || err != nil {
		t.Errorf("status %d, %v", code, err)
	}
	if after := termios(t, c.slave); after != c.before {
		t.Errorf("termios before %+v, after %+v", c.before, after)
	}
	c.awaitDrawn("\x1b[?25h\x1b[?1049l") // what the program left switched on
}

func TestLostSessionsAreErrors(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]client.Event{
		"sandbox": client.Exit{Code: 125, Lost: true, Reason: "the \x1bsentry was killed"},
		"refused": client.Lost{Err: &wire.Refused{Code: wire.CodeExec, Message: "no such command", Fix: "try"}},
		"dropped": client.Lost{Err: errors.New("gone")},
	} {
		_, err := attached(t).finish(last)
		if fault.KindOf(err) != fault.Sandbox || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestTildeCommands(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.press("a~.\r~~x\r~y\r")
	c.await(t, "input", func() bool { return c.typed() == "a~.\r~x\r~y\r" })
	c.press("~.")
	c.await(t, "end", func() bool { return strings.Contains(c.called(), "end") })
	if c.typed() != "a~.\r~x\r~y\r" {
		t.Errorf("typed %q", c.typed())
	}
}

func TestWindowChangeIsPassedOn(t *testing.T) {
	t.Parallel()
	c := attached(t)
	if err := pty.Setsize(c.master, &pty.Winsize{Rows: 50, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	unix.Kill(os.Getpid(), unix.SIGWINCH) // this terminal is not our controlling one
	c.await(t, "resize", func() bool { return strings.Contains(c.called(), "resize 132x50") })
}

// TestCardTakesNoKeyThatWasTypedBefore is the rule that a card that opens by
// itself waits for a pause; its twin presses the same key afterwards.
func TestCardTakesNoKeyThatWasTypedBefore(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- pending("git", "push")
	c.awaitDrawn("git push")
	c.press("a")
	c.awaitDrawn(prompt)
	c.press("aaa") // a burst: pasted, or held down
	c.awaitDrawn("no single key")
	c.awaitDrawn(prompt)
	if strings.Contains(c.called(), "decide") || c.typed() != "" {
		t.Fatalf("taken: %q, typed %q", c.called(), c.typed())
	}
	c.press("a")
	c.await(t, "decision", func() bool {
		return strings.Contains(c.called(), fmt.Sprintf("decide %s 1 [] \"\"", id))
	})
}

const id = "00000000000000000000000000000000"

func TestCardSuspendsForwarding(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- client.Output{Stream: wire.StreamTTY, Data: []byte("\x1b[?1049h\x1b[?2004hbefore")}
	c.awaitDrawn("before")
	c.events <- pending("make", "a b", "\x1b]0;x\x07'q'\u202e")
	c.awaitDrawn("\x1b[?1049l")
	c.awaitDrawn(`make 'a b' '\x1b]0;x\x07'\''q'\''\u{202e}'`)
	c.awaitDrawn("runs project code")
	c.events <- client.Output{Stream: wire.StreamTTY, Data: []byte("meanwhile")}
	c.awaitDrawn(prompt)
	if strings.Contains(c.drawn(), "meanwhile") {
		t.Error("output was drawn over the card")
	}
	c.press("d")
	c.awaitDrawn("reason")
	c.press("not now\n")
	c.awaitDrawn("\x1b[?1049h")
	c.awaitDrawn("meanwhile")
	c.await(t, "decision and redraw", func() bool {
		return strings.Contains(c.called(), fmt.Sprintf("decide %s 2 [] \"not now\"", id)) &&
			strings.Contains(c.called(), "resize 80x23\nresize 80x24")
	})
	c.press("x")
	c.await(t, "input", func() bool { return c.typed() == "x" })
}

func TestEditAndAbort(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- pending("rm", "-r", "x", "y")
	c.awaitDrawn(prompt)
	c.press("e")
	for _, line := range []string{"", "-", "one two", `""`, "more", ""} {
		c.awaitDrawn(" > ")
		c.press(line + "\n")
	}
	c.awaitDrawn("rm 'one two' '' more")
	c.awaitDrawn("asked was: rm -r x y")
	c.awaitDrawn(prompt)
	c.press("a")
	c.await(t, "decision", func() bool {
		return strings.Contains(c.called(), fmt.Sprintf("decide %s 1 [\"rm\" \"one two\" \"\" \"more\"] \"\"", id))
	})
	c.events <- pending("rm")
	c.awaitDrawn(prompt)
	c.press("q")
	c.awaitDrawn("confirm > ")
	c.press("n")
	c.awaitDrawn(prompt)
	c.press("q")
	c.awaitDrawn("confirm > ")
	c.press("y")
	c.await(t, "abort", func() bool { return strings.Contains(c.called(), "decide "+id+" 3") })
}

func TestCardGoesWhenTheRequestDoes(t *testing.T) {
	t.Parallel()
	c := attached(t)
	c.events <- pending("sleep")
	c.awaitDrawn(prompt)
	c.events <- client.Resolved{Request: id, Outcome: escalate.OutcomeExpired}
	c.awaitDrawn("nobody decided in time")
	c.press("a")
	c.await(t, "input", func() bool { return c.typed() == "a" })
	c.events <- pending("sleep")
	c.awaitDrawn(prompt)
	if code, err := c.finish(client.Exit{Code: 3}); code != 3 || err != nil {
		t.Errorf("status %d, %v", code, err)
	}
	if after := termios(t, c.slave); after != c.before {
		t.Error("the terminal is not as it was")
	}
}

func TestPipes(t *testing.T) {
	t.Parallel()
	s := newSession()
	var stdout, stderr bytes.Buffer
	p := pending("git", "push", "a b")
	for _, e := range []client.Event{
		client.Output{Stream: wire.StreamStdout, Data: []byte("out")},
		client.Output{Stream: wire.StreamStderr, Data: []byte("err\n")},
		p,
		client.Resolved{Request: id, Outcome: escalate.OutcomeDenied},
		client.Exit{Code: 7},
	} {
		s.events <- e
	}
	code, err := attach.Pipes(t.Context(), s, strings.NewReader("in"), &stdout, &stderr)
	if code != 7 || err != nil || stdout.String() != "out" {
		t.Errorf("status %d, %v, stdout %q", code, err, stdout.String())
	}
	for _, want := range []string{"err\n", "git push 'a b'", "so it is denied", "was denied"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr.String())
		}
	}
	s.await(t, "input and decision", func() bool {
		return s.typed() == "in" && strings.Contains(s.called(), "close input") &&
			strings.Contains(s.called(), fmt.Sprintf("decide %s 2 [] %q", id, "this session has no terminal to decide on"))
	})
}
