package userns

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
)

// statusOrphaned is the exit status of a child whose starter is gone.
const statusOrphaned = 125

// Enter is the first act of a program started by Start: it waits until it is root
// of its namespace, renews the parent-death signal, which an exec that gained
// capabilities would have cleared, and sees to it that the process ends when the
// starter is gone. PID 1 of a namespace takes everything in it along.
func Enter() error {
	number, maps := strings.CutSuffix(os.Getenv(lifetimeVariable), awaitsMaps)
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return fmt.Errorf("enter a user namespace: %s=%q names no descriptor", lifetimeVariable, number)
	}
	_ = os.Unsetenv(lifetimeVariable) // cannot fail for a name without = or NUL
	unix.CloseOnExec(fd)
	if err := proc.DieWithParent(); err != nil {
		return fmt.Errorf("renew the parent-death signal: %w", err)
	}
	if maps {
		if n := readLifetime(fd); n != 1 {
			os.Exit(statusOrphaned) // the starter is gone or could not write the maps
		}
		if err := settle(); err != nil {
			return err
		}
	}
	// Read blocking, on a thread of its own: nothing else may be needed to notice.
	go func() {
		for readLifetime(fd) > 0 {
			continue // nothing is sent; what is, means nothing
		}
		os.Exit(statusOrphaned)
	}()
	return nil
}

func readLifetime(fd int) int {
	for {
		n, err := unix.Read(fd, make([]byte, 1))
		if err == unix.EINTR {
			continue
		}
		return n
	}
}

// settle takes away what carried the capabilities over the exec: root of the
// namespace needs neither ambient nor inheritable ones, and its children must not
// get any by them. It also closes the process to other processes of the same user,
// as the kernel does where an exec gains capabilities.
func settle() error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("clear ambient capabilities: %w (the binary must be built with CGO_ENABLED=0)", errno)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	_, _, errno = syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("clear inheritable capabilities: %w", errno)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the process to others: %w", err)
	}
	return nil
}
