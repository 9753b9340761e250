package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
)

// peerMode is this program inside a user namespace like a sandbox's: it runs bare
// runsc there when told to and says how long that took.
const peerMode = "__peer"

// The peer's orders, a line each; every answer is a line of microseconds, or one
// that begins with "!".
const (
	orderRun  = "run"  // a whole sandbox for one /bin/echo
	orderUp   = "up"   // a sandbox that stays
	orderExec = "exec" // one /bin/echo in it
	orderWork = "work" // another that stays, with a shell in the work tree
	orderDo   = "do "  // the line that follows in that shell
	orderRest = "rest" // the end of it
)

// treesGiven says that the peer's descriptors 3 and 4 are the trees it needs.
const treesGiven = "given"

// peer is the outside of it.
type peer struct {
	process *proc.Process
	orders  *os.File
	answers *bufio.Reader
}

func startPeer(w *world, binds ...bind) (*peer, error) {
	shown, err := json.Marshal(append([]bind{}, binds...))
	if err != nil {
		return nil, fmt.Errorf("name the binds: %w", err)
	}
	dir := filepath.Join(w.dir, "peer")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make the peer's folder: %w", err)
	}
	given := "no"
	var trees []*os.File
	if os.Getuid() == 0 {
		if err := os.Chown(dir, int(w.ids.UIDs.Host), int(w.ids.GIDs.Host)); err != nil {
			return nil, fmt.Errorf("give the peer its folder: %w", err)
		}
		// What only root may reach is handed over, as Lazaret does.
		for _, path := range []string{w.lower.Rootfs, w.program("runsc")} {
			tree, err := cloneTree(path)
			if err != nil {
				return nil, err
			}
			defer tree.Close()
			trees = append(trees, tree)
		}
		given = treesGiven
	}
	ordersR, ordersW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer ordersR.Close()
	answersR, answersW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer answersW.Close()
	p := &peer{orders: ordersW, answers: bufio.NewReader(answersR)}
	p.process, err = userns.Start(proc.Spec{
		Path: proc.Self(), Args: []string{"bench", peerMode, dir, w.lower.Rootfs, w.program("runsc"), given, string(shown)},
		Env: w.env, Files: append([]*os.File{ordersR, answersW, os.Stderr}, trees...),
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET,
	}, w.ids)
	if err != nil {
		return nil, fmt.Errorf("start the peer: %w", err)
	}
	return p, nil
}

func cloneTree(path string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("clone %q: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// do gives an order and returns the milliseconds it took.
func (p *peer) do(order string) (float64, error) {
	if _, err := p.orders.WriteString(order + "\n"); err != nil {
		return 0, fmt.Errorf("give the peer an order: %w", err)
	}
	line, err := p.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("read the peer's answer to %q: %w", order, err)
	}
	line = strings.TrimSpace(line)
	if why, bad := strings.CutPrefix(line, "!"); bad {
		return 0, fmt.Errorf("peer, %s: %s", order, why)
	}
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the peer's answer %q: %w", line, err)
	}
	return milliseconds(time.Duration(n) * time.Microsecond), nil
}

// close ends it and everything it started.
func (p *peer) close() {
	p.orders.Close()
	<-p.process.Done()
}
