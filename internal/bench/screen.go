package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/term"
)

// The size of every terminal here.
const (
	cols = 120
	rows = 40
)

// screen is a program in a terminal. Its bytes are taken as they come, with the
// emulator out of the way until somebody looks.
type screen struct {
	cmd    *exec.Cmd
	master *os.File

	mu    sync.Mutex
	bytes []byte // not yet shown to the emulator
	total int
	news  chan struct{} // of capacity 1: there is something new
	ended chan struct{}

	emulator term.Emulator
}

func openScreen(cmd *exec.Cmd) (*screen, error) {
	cmd.Stderr = nil // the terminal's
	blocking, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: cols})
	if err != nil {
		return nil, fmt.Errorf("start %s in a terminal: %w", cmd.Path, err)
	}
	master, err := hangable(blocking)
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	s := &screen{cmd: cmd, master: master, news: make(chan struct{}, 1), ended: make(chan struct{}),
		emulator: term.New(cols, rows, term.Options{})}
	go s.read()
	return s, nil
}

// hangable takes over a terminal whose Close must hang up although a Read waits: only
// a file the Go runtime polls can do that, and package pty makes none.
func hangable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, fmt.Errorf("take over a terminal: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func (s *screen) read() {
	defer close(s.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.bytes = append(s.bytes, buf[:n]...)
		s.total += n
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default: // somebody will look anyway
		}
		if err != nil {
			return
		}
	}
}

// wait waits for news until the deadline.
func (s *screen) wait(late <-chan time.Time) error {
	select {
	case <-s.news:
		return nil
	case <-s.ended:
		return fmt.Errorf("%s ended early", s.cmd.Path)
	case <-late:
		return fmt.Errorf("%s does not show it in time", s.cmd.Path)
	}
}

// show gives the emulator what came and returns what is on the screen.
func (s *screen) show() (string, error) {
	s.mu.Lock()
	data := s.bytes
	s.bytes = nil
	s.mu.Unlock()
	s.emulator.Write(data)
	if replies := s.emulator.TakeReplies(); len(replies) > 0 {
		if _, err := s.master.Write(replies); err != nil {
			return "", fmt.Errorf("answer %s: %w", s.cmd.Path, err)
		}
	}
	return s.emulator.Frame(0).String(), nil
}

// shows waits until text is on the screen.
func (s *screen) shows(text string, limit time.Duration) error {
	late := time.After(limit)
	for {
		seen, err := s.show()
		if err != nil || strings.Contains(seen, text) {
			return err
		}
		if err := s.wait(late); err != nil {
			return fmt.Errorf("wait for %q: %w; the screen is:\n%s", text, err, seen)
		}
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?:<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b.`)

// answered types keys and returns how long it took until text was written out.
func (s *screen) answered(keys, text string, limit time.Duration) (time.Duration, error) {
	if _, err := s.show(); err != nil { // so that only new bytes count
		return 0, err
	}
	select {
	case <-s.news:
	default:
	}
	late := time.After(limit)
	begun := time.Now()
	if _, err := s.master.WriteString(keys); err != nil {
		return 0, fmt.Errorf("type: %w", err)
	}
	for {
		if err := s.wait(late); err != nil {
			return 0, fmt.Errorf("wait for %q: %w", text, err)
		}
		now := time.Now()
		s.mu.Lock()
		seen := bytes.Contains(escapes.ReplaceAll(s.bytes, nil), []byte(text))
		s.mu.Unlock()
		if seen {
			return now.Sub(begun), nil
		}
	}
}

func (s *screen) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// close hangs up and waits for the program's end.
func (s *screen) close() {
	s.master.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(stopTime):
		_ = s.cmd.Process.Kill()
		<-ended
	}
}
