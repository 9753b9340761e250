package frame

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"
)

// Features are the terminal modes that Terminal.Enter turns on.
type Features struct {
	Mouse       bool // buttons, wheel and drag, SGR reports (1000, 1002, 1006)
	Motion      bool // every movement as well (1003)
	Paste       bool // bracketed paste (2004)
	Focus       bool // focus reports (1004)
	KittyFlags  int  // kitty keyboard flags to push; 0 for none
	ClusterMode bool // widths by grapheme cluster (2027); only where the terminal said it is off
}

// Terminal is the developer's terminal: raw mode and the modes we set, and the
// promise to put all of it back. Restore may be called from any goroutine, more
// than once, and from a deferred recover.
type Terminal struct {
	file  *os.File
	owned bool

	mu      sync.Mutex
	saved   *xterm.State
	entered bool
	feats   Features
}

// OpenTerminal takes over file; nil means the controlling terminal. Nothing about
// the terminal changes before Enter.
func OpenTerminal(file *os.File) (*Terminal, error) {
	owned := file == nil
	if owned {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open controlling terminal: %w", err)
		}
		file = f
	}
	if !xterm.IsTerminal(int(file.Fd())) {
		if owned {
			file.Close()
		}
		return nil, fmt.Errorf("open %s: %w", file.Name(), ErrNotTerminal)
	}
	return &Terminal{file: file, owned: owned}, nil
}

// ErrNotTerminal means that the given file is no terminal.
var ErrNotTerminal = errors.New("not a terminal")

// File is the terminal, to read from and to write to.
func (t *Terminal) File() *os.File { return t.file }

// Size returns the columns and rows of the terminal, at least 1 each.
func (t *Terminal) Size() (cols, rows int, err error) {
	ws, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, fmt.Errorf("size of %s: %w", t.file.Name(), err)
	}
	cols, rows = int(ws.Col), int(ws.Row)
	if cols == 0 || rows == 0 {
		cols, rows = 80, 24
	}
	return cols, rows, nil
}

// Enter sets raw mode, the alternate screen and the given features. Calling it
// again while entered does nothing.
func (t *Terminal) Enter(f Features) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entered {
		return nil
	}
	state, err := xterm.MakeRaw(int(t.file.Fd()))
	if err != nil {
		return fmt.Errorf("set raw mode of %s: %w", t.file.Name(), err)
	}
	t.saved, t.entered, t.feats = state, true, f
	if _, err := t.file.WriteString(enterSequence(f)); err != nil {
		return errors.Join(fmt.Errorf("set up %s: %w", t.file.Name(), err), t.restore())
	}
	return nil
}

// Restore puts everything back as it was before Enter; it does nothing when there
// is nothing to put back.
func (t *Terminal) Restore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.restore()
}

func (t *Terminal) restore() error {
	if !t.entered {
		return nil
	}
	t.entered = false
	_, werr := t.file.WriteString(leaveSequence(t.feats))
	// Answers to our queries that nobody reads any more are not the shell's input.
	_ = unix.IoctlSetInt(int(t.file.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	if err := errors.Join(werr, xterm.Restore(int(t.file.Fd()), t.saved)); err != nil {
		return fmt.Errorf("restore %s: %w", t.file.Name(), err)
	}
	return nil
}

// Close restores the terminal and closes it if OpenTerminal opened it.
func (t *Terminal) Close() error {
	err := t.Restore()
	if t.owned {
		err = errors.Join(err, t.file.Close())
	}
	return err
}
