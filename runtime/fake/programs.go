package fake

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Builtin are the programs of a sandbox that was given none.
var Builtin = map[string]Program{
	"echo": func(p *Process) int {
		fmt.Fprintln(p.Stdout, strings.Join(p.Spec.Argv[1:], " "))
		return 0
	},
	"cat": func(p *Process) int {
		io.Copy(p.Stdout, p.Stdin)
		return 0
	},
	"exit": func(p *Process) int {
		code, err := strconv.Atoi(p.Spec.Argv[1])
		if err != nil {
			return 2
		}
		return code
	},
	"both": func(p *Process) int {
		fmt.Fprint(p.Stdout, "out")
		fmt.Fprint(p.Stderr, "err")
		return 0
	},
	"flood": flood,
	"sleep": sleep,
	"size":  size,
	"env": func(p *Process) int {
		fmt.Fprintln(p.Stdout, strings.Join(p.Spec.Env, "\n"))
		return 0
	},
}

// flood writes the given number of bytes, each line numbered.
func flood(p *Process) int {
	want, err := strconv.Atoi(p.Spec.Argv[1])
	if err != nil {
		return 2
	}
	for n, i := 0, 0; n < want; i++ {
		written, err := fmt.Fprintf(p.Stdout, "%07d\n", i)
		if err != nil {
			return 1
		}
		n += written
	}
	return 0
}

// sleep ends by one of the signals named as arguments ("1", "15"), else only
// when it is killed. It ignores all others.
func sleep(p *Process) int {
	for {
		select {
		case sig := <-p.Signals:
			for _, arg := range p.Spec.Argv[1:] {
				if arg == strconv.Itoa(int(sig)) {
					return 128 + int(sig)
				}
			}
		case <-p.Killed:
			return 128 + int(unix.SIGKILL)
		}
	}
}

// sizeLook is how often size looks: a fake has no SIGWINCH.
const sizeLook = 2 * time.Millisecond

// size prints the terminal's size whenever it changes, until killed.
func size(p *Process) int {
	last := ""
	tick := time.NewTicker(sizeLook)
	defer tick.Stop()
	for {
		if now := terminalSize(p.Stdout); now != last {
			last = now
			fmt.Fprintf(p.Stdout, "size %s\n", now)
		}
		select {
		case <-tick.C:
		case <-p.Signals:
			return 0
		case <-p.Killed:
			return 0
		}
	}
}

func terminalSize(f *os.File) (size string) {
	conn, err := f.SyscallConn()
	if err != nil {
		return err.Error()
	}
	conn.Control(func(fd uintptr) {
		ws, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
		if err != nil {
			size = err.Error()
			return
		}
		size = fmt.Sprintf("%dx%d", ws.Col, ws.Row)
	})
	return size
}
