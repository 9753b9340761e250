package session

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/wire"
)

// openPTY returns a new pseudo-terminal of the given size.
//
// The master is opened non-blocking *before* it becomes an os.File: only then
// does the runtime poller own it, and only then does Close interrupt a pending
// Read and hang the terminal up. On a blocking master Close waits for the reader
// and the program inside never gets its SIGHUP.
func openPTY(size wire.Size) (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	defer func() {
		if err != nil {
			master.Close()
		}
	}()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock pseudo-terminal: %w", err)
	}
	// TIOCGPTPEER opens the slave of exactly this master, whatever is mounted at
	// /dev/pts.
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return nil, nil, fmt.Errorf("open terminal side of pseudo-terminal: %w", errno)
	}
	slave = os.NewFile(peer, "/dev/pts")
	if err := setSize(master, size); err != nil {
		slave.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// setSize tells the terminal its size. The kernel then signals SIGWINCH to the
// foreground group, also through runsc; no second signal is needed.
func setSize(master *os.File, size wire.Size) error {
	conn, err := master.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize pseudo-terminal: %w", err)
	}
	var ioctlErr error
	err = conn.Control(func(fd uintptr) {
		ioctlErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if err == nil {
		err = ioctlErr
	}
	if err != nil {
		return fmt.Errorf("resize pseudo-terminal to %d by %d: %w", size.Cols, size.Rows, err)
	}
	return nil
}
