package frame_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	xterm "golang.org/x/term"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
)

// openPair returns a pseudo-terminal and a function that returns what was written to
// it, once the writing end is closed.
func openPair(t *testing.T) (tty *os.File, written func() string) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 90, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	done := make(chan struct{})
	go func() {
		io.Copy(&b, master) // ends with EIO when the other end closes
		close(done)
	}()
	t.Cleanup(func() { master.Close() })
	return tty, func() string {
		tty.Close()
		<-done
		return b.String()
	}
}

func TestTerminalRestores(t *testing.T) {
	t.Parallel()
	tty, written := openPair(t)
	before, err := xterm.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	term1, err := frame.OpenTerminal(tty)
	if err != nil {
		t.Fatal(err)
	}
	if cols, rows, err := term1.Size(); cols != 90 || rows != 30 || err != nil {
		t.Errorf("size %d, %d, %v", cols, rows, err)
	}
	if err := term1.Enter(frame.Features{Mouse: true, Motion: true, Paste: true, Focus: true, KittyFlags: 1}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 { // a signal, a panic and the ordinary way out at once
		wg.Go(func() {
			if err := term1.Restore(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	after, err := xterm.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Error("the line discipline is not as before")
	}
	out := written()
	if n := strings.Count(out, "\x1b[?1049l"); n != 1 {
		t.Errorf("restored %d times: %q", n, out)
	}
	e := term.New(90, 30, term.Options{})
	e.Write([]byte("shell$ "))
	e.Write([]byte(out))
	if got := e.Modes(); got != (term.Modes{}) {
		t.Errorf("modes left behind: %+v", got)
	}
	if g := e.Frame(0); !g.Cursor.Visible || !strings.HasPrefix(g.String(), "shell$") || g.Cursor.X != 7 {
		t.Errorf("screen left behind: cursor %+v\n%s", g.Cursor, g)
	}
}

func TestTerminalEntersAgain(t *testing.T) {
	t.Parallel()
	tty, written := openPair(t)
	tm, err := frame.OpenTerminal(tty)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // suspended and resumed
		if err := errors.Join(tm.Enter(frame.Features{Paste: true}), tm.Enter(frame.Features{Paste: true})); err != nil {
			t.Fatal(err)
		}
		if err := tm.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	if out := written(); strings.Count(out, "\x1b[?2004h") != 2 || strings.Count(out, "\x1b[?2004l") != 2 {
		t.Errorf("wrote %q", out)
	}
}

func TestOpenTerminalRefusesFiles(t *testing.T) {
	t.Parallel()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := frame.OpenTerminal(f); !errors.Is(err, frame.ErrNotTerminal) {
		t.Errorf("error %v", err)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"killed client":  "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[31m\x1b[?2026h",
		"clean terminal": "\x1b[3;5H",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := term.New(20, 4, term.Options{})
			e.Write([]byte("shell$ " + left + frame.Repair()))
			if got := e.Modes(); got != (term.Modes{}) {
				t.Errorf("modes left behind: %+v", got)
			}
			g := e.Frame(0)
			if !g.Cursor.Visible || !strings.HasPrefix(g.String(), "shell$") {
				t.Errorf("screen: %+v\n%s", g.Cursor, g)
			}
			if name == "clean terminal" && (g.Cursor.X != 4 || g.Cursor.Y != 2) {
				t.Errorf("the cursor of a clean terminal moved to %d, %d", g.Cursor.X, g.Cursor.Y)
			}
		})
	}
}
