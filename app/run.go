package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/app/outer"
	"lazaret.dev/lazaret/internal/frame"
)

// SignalError says that a signal ended the dashboard.
type SignalError struct{ Signal syscall.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "ended by " + e.Signal.String() }

// Run shows the dashboard on the controlling terminal until the developer leaves.
// Whatever way it ends, the terminal is as it was. It fills in Screen, Send, Rescue
// and the size of opt.
func Run(ctx context.Context, opt Options, profile frame.Profile) error {
	terminal, err := frame.OpenTerminal(nil)
	if err != nil {
		return fmt.Errorf("open dashboard: %w", err)
	}
	defer func() { _ = terminal.Close() }() // a terminal that is gone cannot be put back
	features := frame.Features{Mouse: true, Paste: true, Focus: true, KittyFlags: 1}
	screen, err := outer.Enter(terminal, features, profile)
	if err != nil {
		return fmt.Errorf("open dashboard: %w", err)
	}
	defer func() { _ = screen.Close() }()
	rescue := func() {
		if r := recover(); r != nil {
			_ = screen.Close()
			panic(r)
		}
	}
	if opt.W, opt.H, err = screen.Size(); err != nil {
		return fmt.Errorf("open dashboard: %w", err)
	}
	return loop(ctx, opt, screen, rescue)
}

// loop runs the model on a screen.
func loop(ctx context.Context, opt Options, screen *outer.Screen, rescue func()) error {
	var program *tea.Program
	opt.Screen, opt.Rescue = screen, rescue
	opt.Send = func(msg tea.Msg) { program.Send(msg) }
	tty := &outer.TTY{File: screen.File(), Deliver: func(b []byte) { program.Send(InputMsg(b)) }}
	model := New(opt)
	// The loop's renderer is off, and its timer, which cannot be, runs once a
	// second. Its colour detection would run tmux; ours has been done.
	program = tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(tty), tea.WithOutput(io.Discard), tea.WithoutRenderer(),
		tea.WithoutSignalHandler(), tea.WithoutCatchPanics(), tea.WithFPS(1), tea.WithColorProfile(colorprofile.NoTTY))
	watch := watchSignals(program, screen, rescue)
	_, err := program.Run()
	model.cancel()
	if sig := watch.stop(); sig != 0 {
		return &SignalError{Signal: sig}
	}
	if errors.Is(err, unix.EIO) || errors.Is(err, os.ErrClosed) {
		return &SignalError{Signal: syscall.SIGHUP} // the terminal is gone
	}
	if err != nil {
		return fmt.Errorf("run dashboard: %w", err)
	}
	return nil
}

// watcher turns signals into messages.
type watcher struct {
	ch      chan os.Signal
	done    chan struct{}
	stopped chan struct{}
	ended   syscall.Signal // set before the loop is told; read after stopped
}

func watchSignals(program *tea.Program, screen *outer.Screen, rescue func()) *watcher {
	w := &watcher{ch: make(chan os.Signal, 8), done: make(chan struct{}), stopped: make(chan struct{})}
	// SIGTSTP is not here: once Go has handled it, it can no longer stop us.
	signal.Notify(w.ch, unix.SIGWINCH, unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGCONT)
	go func() {
		defer rescue()
		defer close(w.stopped)
		w.run(program, screen)
	}()
	return w
}

// stop ends the watch and returns the signal that ended the dashboard, if one did.
func (w *watcher) stop() syscall.Signal {
	signal.Stop(w.ch)
	close(w.done)
	<-w.stopped
	return w.ended
}

func (w *watcher) run(program *tea.Program, screen *outer.Screen) {
	for {
		select {
		case <-w.done:
			return
		case s := <-w.ch:
			w.handle(s, program, screen)
		}
	}
}

func (w *watcher) handle(s os.Signal, program *tea.Program, screen *outer.Screen) {
	switch s {
	case unix.SIGWINCH:
		if cols, rows, err := screen.Size(); err == nil {
			program.Send(SizeMsg{W: cols, H: rows})
		}
	case unix.SIGCONT:
		// Suspend hears this one too; setting the modes twice does no harm, and
		// the size may have changed while we were stopped.
		if cols, rows, err := screen.Size(); err == nil {
			program.Send(SizeMsg{W: cols, H: rows})
		}
		program.Send(continuedMsg{})
	default:
		w.ended, _ = s.(syscall.Signal)
		program.Send(HangupMsg{})
	}
}
