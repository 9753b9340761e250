package userns

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
)

// statusOrphaned is the exit status of a child whose starter is gone.
const statusOrphaned = 125

// Main is the hidden mode between the birth of a child and its maps: it waits for
// the starter's byte and executes the real program, with args = {descriptor,
// path, argv…}. The lifetime descriptor stays open for it.
func Main(args []string) int {
	if len(args) < 3 {
		fmt.Fprintf(os.Stderr, "lazaret %s: want a descriptor, a path and arguments\n", Mode)
		return 2
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "lazaret %s: descriptor %q: %v\n", Mode, args[0], err)
		return 2
	}
	for {
		n, err := unix.Read(fd, make([]byte, 1))
		if err == unix.EINTR { //nolint:errorlint // a bare errno by contract
			continue
		}
		if n != 1 {
			return statusOrphaned // the starter is gone or could not write the maps
		}
		break
	}
	err = syscall.Exec(args[1], args[2:], os.Environ())
	fmt.Fprintf(os.Stderr, "lazaret %s: execute %q: %v\n", Mode, args[1], err)
	return 1
}

// Enter is the first act of a program started by Start: it renews the
// parent-death signal, which the exec that gained capabilities cleared, and ends
// the process when the starter is gone. PID 1 of a namespace takes everything in
// it along.
func Enter() error {
	value := os.Getenv(lifetimeVariable)
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return fmt.Errorf("enter a user namespace: %s=%q names no descriptor", lifetimeVariable, value)
	}
	os.Unsetenv(lifetimeVariable)
	unix.CloseOnExec(fd)
	if err := proc.DieWithParent(); err != nil {
		return fmt.Errorf("renew the parent-death signal: %w", err)
	}
	// Read blocking, on a thread of its own: nothing else may be needed to notice.
	go func() {
		for {
			n, err := unix.Read(fd, make([]byte, 1))
			if n == 0 || (err != nil && err != unix.EINTR) { //nolint:errorlint // a bare errno by contract
				os.Exit(statusOrphaned)
			}
		}
	}()
	return nil
}
