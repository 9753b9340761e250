//go:build sandbox

package watch_test

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// The other process: a Watcher in a user namespace, as the daemon has it, driven
// through its standard input.

// order is one thing the child shall do. FD is a descriptor the child has.
type order struct {
	Do   string
	FD   int
	Key  uint64
	Name string // of a file in FD, or a shell script to run there
	N    int
}

// answer is one word of the child's: a batch of events, an overflow, what a person
// is told, or, with Done, the reply to an order.
type answer struct {
	Events   []watch.Event
	Overflow bool
	Told     string
	Done     bool
	FD       int
	Err      string
	Why      string // the sentinel of Err
	Status   watch.Status
}

type child struct {
	w    *watch.Watcher
	mu   sync.Mutex // protects out
	out  *gob.Encoder
	held sync.Mutex // the sink takes it: whoever holds it holds the sink up
}

func (c *child) say(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.Encode(a); err != nil {
		os.Exit(3)
	}
}

func (c *child) Changed(events []watch.Event) {
	c.held.Lock()
	defer c.held.Unlock()
	c.say(answer{Events: events})
}

func (c *child) Overflow() {
	c.held.Lock()
	defer c.held.Unlock()
	c.say(answer{Overflow: true})
}

func childMain(inNamespace bool) int {
	if inNamespace {
		if err := userns.Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		// Mounts made here must not leave, where the host shares its own.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	c := &child{out: gob.NewEncoder(os.Stdout)}
	w, err := watch.New(watch.Options{Degraded: func(err error) { c.say(answer{Told: fault.FixOf(err)}) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c.w = w
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- w.Run(ctx, c) }()
	orders := gob.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			cancel()
			if err := errors.Join(<-ran, w.Close()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
		c.obey(o)
	}
}

func (c *child) obey(o order) {
	a := answer{Done: true}
	var err error
	switch o.Do {
	case "open": // as the file system holds its directories
		a.FD, err = unix.Openat(o.FD, o.Name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	case "close":
		err = unix.Close(o.FD)
	case "add":
		err = c.w.Add(o.FD, o.Key)
	case "remove":
		err = c.w.Remove(o.Key, o.FD)
	case "own":
		err = own(o.FD, o.Name)
	case "shell":
		command := exec.Command("sh", "-ec", o.Name)
		command.Dir = fmt.Sprintf("/proc/self/fd/%d", o.FD)
		command.Stderr = os.Stderr
		err = command.Run()
	case "limit": // of this namespace; namespaces(7) has it below /proc/sys/user
		err = os.WriteFile("/proc/sys/user/max_fanotify_marks", fmt.Appendln(nil, o.N), 0)
	case "hold":
		c.held.Lock()
	case "release":
		c.held.Unlock()
	}
	if err != nil {
		a.Err = err.Error()
		for _, why := range []error{watch.ErrLimit, watch.ErrUnsupported, watch.ErrRemote, watch.ErrDenied} {
			if errors.Is(err, why) {
				a.Why = why.Error()
			}
		}
	}
	a.Status = c.w.Status()
	c.say(a)
}

// own does to name what others are reported for.
func own(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.WriteString(f, "text")
	return errors.Join(err, f.Chmod(0o600), f.Close(),
		unix.Renameat(dir, name, dir, name+".moved"), unix.Unlinkat(dir, name+".moved", 0))
}
