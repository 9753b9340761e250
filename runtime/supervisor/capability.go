package supervisor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropNetworkAdministration takes CAP_NET_ADMIN from every thread of this process,
// from what they may regain by executing, and so from every child to come (SR-5).
// There is no way back.
func dropNetworkAdministration() error {
	// Package syscall's variant runs on every thread; a prctl by itself would leave
	// the others able.
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, unix.CAP_NET_ADMIN, 0); errno != 0 {
		return fmt.Errorf("drop network administration from the bounding set: %w (the binary must be built with CGO_ENABLED=0)", errno)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	mask := ^uint32(1 << unix.CAP_NET_ADMIN)
	data[0].Effective &= mask
	data[0].Permitted &= mask
	data[0].Inheritable &= mask
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("drop network administration: %w", errno)
	}
	return assertNoNetworkAdministration()
}

// assertNoNetworkAdministration reads back what the kernel says of each thread.
func assertNoNetworkAdministration() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/status")
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			if !strings.HasPrefix(name, "Cap") {
				continue
			}
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err != nil || set&(1<<unix.CAP_NET_ADMIN) != 0 {
				return fmt.Errorf("thread %s still has network administration in %s", thread.Name(), name)
			}
		}
	}
	return nil
}
