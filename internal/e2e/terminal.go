package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
)

// Terminal is a program in a pseudo-terminal with our emulator as its outer
// terminal. Its methods may overlap.
type Terminal struct {
	Cmd    *exec.Cmd
	master *os.File

	mu      sync.Mutex
	screen  term.Emulator
	written int           // bytes the program has written
	changed chan struct{} // closed and replaced at every write of the program
	ended   chan struct{} // closed when the program's side of the terminal is gone
}

// Start runs cmd in a terminal of that size.
func Start(cmd *exec.Cmd, cols, rows int) (*Terminal, error) {
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)})
	if err != nil {
		return nil, fmt.Errorf("start %s in a terminal: %w", cmd.Path, err)
	}
	t := &Terminal{
		Cmd: cmd, master: master, screen: term.New(cols, rows, term.Options{}),
		changed: make(chan struct{}), ended: make(chan struct{}),
	}
	go t.read()
	return t, nil
}

// read feeds the emulator and answers the program's queries until the end.
func (t *Terminal) read() {
	defer close(t.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			t.mu.Lock()
			t.screen.Write(buf[:n])
			replies := t.screen.TakeReplies()
			t.written += n
			close(t.changed)
			t.changed = make(chan struct{})
			t.mu.Unlock()
			if len(replies) > 0 {
				t.master.Write(replies)
			}
		}
		if err != nil {
			return
		}
	}
}

// Type sends bytes as if typed.
func (t *Terminal) Type(keys string) error {
	_, err := t.master.WriteString(keys)
	return err
}

// Resize changes the terminal's size.
func (t *Terminal) Resize(cols, rows int) error {
	t.mu.Lock()
	t.screen.Resize(cols, rows)
	t.mu.Unlock()
	return pty.Setsize(t.master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)})
}

// Text returns what the screen shows, one line a row.
func (t *Terminal) Text() string { return t.Grid().String() }

// Grid returns what the screen shows, with its styles.
func (t *Terminal) Grid() *frame.Grid {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Frame(0)
}

// Modes returns the terminal modes the program has set.
func (t *Terminal) Modes() term.Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Modes()
}

// Written returns how many bytes the program has written so far.
func (t *Terminal) Written() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written
}

// Until waits until the screen satisfies ok, and fails with the screen it saw
// last when the deadline passes or the program ends first.
func (t *Terminal) Until(deadline time.Duration, what string, ok func(screen string) bool) error {
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		screen := t.Text()
		if ok(screen) {
			return nil
		}
		select {
		case <-changed:
		case <-t.ended:
			if screen = t.Text(); ok(screen) {
				return nil
			}
			return fmt.Errorf("the program ended before %s; the screen was:\n%s", what, screen)
		case <-timer.C:
			return fmt.Errorf("waited %v for %s; the screen is:\n%s", deadline, what, screen)
		}
	}
}

// Shows waits until the screen contains text.
func (t *Terminal) Shows(deadline time.Duration, text string) error {
	return t.Until(deadline, fmt.Sprintf("%q", text), func(s string) bool { return strings.Contains(s, text) })
}

// Gone waits until the screen no longer contains text.
func (t *Terminal) Gone(deadline time.Duration, text string) error {
	return t.Until(deadline, fmt.Sprintf("%q to go", text), func(s string) bool { return !strings.Contains(s, text) })
}

// drain bounds the wait for a terminal that another process still holds open.
const drain = time.Second

// Wait waits for the program's end and returns its exit code.
func (t *Terminal) Wait(deadline time.Duration) (int, error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.Cmd.Wait()
		select { // what it wrote last may not have been read yet
		case <-t.ended:
		case <-time.After(drain):
		}
	}()
	select {
	case <-done:
		return t.Cmd.ProcessState.ExitCode(), nil
	case <-time.After(deadline):
		return 0, fmt.Errorf("%s still runs after %v; the screen is:\n%s", t.Cmd.Path, deadline, t.Text())
	}
}

// Close hangs the terminal up, as closing a window does.
func (t *Terminal) Close() error { return t.master.Close() }
