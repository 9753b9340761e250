package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// member is one host process of the generation besides RS and slirp4netns, known by
// its pidfd.
type member struct {
	role  string
	pidfd *os.File
}

// takeInventory has RS check the sandbox and keeps a descriptor of its processes.
func (b *boot) takeInventory() error {
	if err := b.channel.send(message{Kind: kindInventory}); err != nil {
		return err
	}
	m, files, err := b.channel.receive()
	for err == nil && m.Kind == kindChanged { // the host works on; nobody inside has looked yet
		closeAll(files)
		m, files, err = b.channel.receive()
	}
	if err != nil {
		return unlessEOF(err)
	}
	if m.Kind != kindInventoried || len(m.Names) != len(files) {
		closeAll(files)
		switch m.Kind {
		case kindFailed:
			return m.err()
		case kindEnded:
			return errors.New(m.Text)
		}
		return fmt.Errorf("got message %d with %d descriptors, want an inventory", m.Kind, len(files))
	}
	for i, f := range files {
		b.members = append(b.members, member{role: m.Names[i], pidfd: f})
	}
	b.onUndo(func() { closeAll(files) })
	return nil
}

// pid returns the process's number as this process sees it, 0 when it is gone.
func (m member) pid() int {
	f, err := os.Open("/proc/self/fdinfo/" + strconv.Itoa(int(m.pidfd.Fd())))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "Pid:"); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || pid < 0 {
				return 0
			}
			return pid
		}
	}
	return 0
}

// gone reports whether the process has ended, waiting for that at most d.
func (m member) gone(d time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(m.pidfd.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(d.Milliseconds()))
	return err == nil && n == 1
}
