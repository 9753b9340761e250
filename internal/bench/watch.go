package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Both programs say READY and then each new content of the file "seen".
const (
	// pollingProgram looks every millisecond.
	pollingProgram = `
import time
last = ""
print("READY", flush=True)
while True:
    time.sleep(0.001)
    try:
        text = open("seen").read()
    except OSError:
        continue
    if text and text != last:
        last = text
        print(text, flush=True)
`
	// waitingProgram looks when inotify(7) has anything to tell of the folder.
	waitingProgram = `
import ctypes, os
libc = ctypes.CDLL(None)
events = libc.inotify_init()
if libc.inotify_add_watch(events, b".", 0xfce) < 0:
    raise OSError("inotify_add_watch")
last = ""
print("READY", flush=True)
while True:
    os.read(events, 65536)
    try:
        text = open("seen").read()
    except OSError:
        continue
    if text and text != last:
        last = text
        print(text, flush=True)
`
)

// changes times what the host writes into the workspace until a program inside has
// read it and said so: one that keeps looking, and one that waits to be told. Half of
// the changes are made in place, half by replacing the file.
func changes(ctx context.Context, w *world) ([]Figure, error) {
	var figures []Figure
	for _, c := range []struct{ name, program, note string }{
		{"host change to a look inside", pollingProgram, "a program that reads the file every millisecond prints it"},
		{"host change to an event inside", waitingProgram, "a program that waits for inotify prints it"},
	} {
		f := Figure{Name: c.name, Unit: "ms", Max: atMost(50), Note: c.note}
		values, err := w.changesSeen(ctx, c.program)
		if err != nil {
			return figures, fmt.Errorf("%s: %w", c.name, err)
		}
		f.Ours = sample(values)
		figures = append(figures, f)
	}
	return figures, nil
}

func (w *world) changesSeen(ctx context.Context, program string) (values []float64, err error) {
	cmd := w.command(ctx, "run", "--", "python3", "-c", program)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err := os.WriteFile(filepath.Join(w.workspace, "seen"), nil, 0o644); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start lazaret: %w", err)
	}
	defer func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		_ = cmd.Wait()
		_ = w.awaitStopped(ctx, "shell", w.workspace)
	}()
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for text := bufio.NewScanner(out); text.Scan(); {
			lines <- text.Text()
		}
	}()
	if err := expectLine(lines, "READY"); err != nil {
		return nil, err
	}
	for i := range w.rounds(200) + 2 {
		text := strconv.Itoa(i + 1)
		began := time.Now()
		if err := w.change(text, i%2 == 1); err != nil {
			return nil, err
		}
		if err := expectLine(lines, text); err != nil {
			return nil, err
		}
		if i >= 2 { // the first of each kind do not count
			values = append(values, milliseconds(time.Since(began)))
		}
		pause(ctx, 20*time.Millisecond)
	}
	return values, nil
}

// change gives the file "seen" another content.
func (w *world) change(text string, replace bool) error {
	path := filepath.Join(w.workspace, "seen")
	if !replace {
		return os.WriteFile(path, []byte(text), 0o644)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// changeTime is far above any delay but that of a change that is never seen.
const changeTime = 30 * time.Second

func expectLine(lines <-chan string, want string) error {
	late := time.After(changeTime)
	select {
	case line, ok := <-lines:
		if !ok {
			return errors.New("the program inside ended early")
		}
		if line != want {
			return fmt.Errorf("the program inside says %q, want %q", line, want)
		}
		return nil
	case <-late:
		return fmt.Errorf("the program inside did not say %q within %v", want, changeTime)
	}
}
