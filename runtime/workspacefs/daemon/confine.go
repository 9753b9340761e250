package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kept are the capabilities the daemon needs over the files of its user namespace: to
// act on files of any guest user, and to give new ones to whoever made them.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// confine gives up what serving does not need. Precondition: this process has a mount
// namespace of its own.
func confine() error {
	unix.Umask(0) // the kernel has applied the guest's
	if err := raiseDescriptors(); err != nil {
		return err
	}
	if err := emptyRoot(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	// Nobody else of the same user may look into this process or take its descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the process to others: %w", err)
	}
	return nil
}

// raiseDescriptors lets the daemon hold as many files as this host allows.
func raiseDescriptors() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raise the limit of open files: %w", err)
	}
	return nil
}

// stage is where the new root is built. Every root the supervisor makes has it.
const stage = "/tmp"

// emptyRoot makes a tmpfs this process's root that holds proc and the null device:
// descriptors are opened again through /proc/self/fd, and what a broken reply leaves in
// a pipe goes to the null device.
func emptyRoot() error {
	if err := unix.Mount("lazaret", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,nr_inodes=8,mode=0755"); err != nil {
		return fmt.Errorf("mount the daemon's root: %w", err)
	}
	if err := errors.Join(os.Mkdir(stage+"/proc", 0o555), os.Mkdir(stage+"/dev", 0o755),
		os.WriteFile(stage+os.DevNull, nil, 0o600)); err != nil {
		return fmt.Errorf("make the daemon's root: %w", err)
	}
	for _, path := range []string{"/proc", os.DevNull} {
		if err := unix.Mount(path, stage+path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %q in the daemon's root: %w", path, err)
		}
	}
	if err := os.Chdir(stage); err != nil {
		return fmt.Errorf("enter the daemon's root: %w", err)
	}
	// The old root is stacked on the new one and unmounted from there (pivot_root(2)).
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("drop the old root: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make the daemon's root read-only: %w", err)
	}
	return os.Chdir("/")
}

// dropCapabilities leaves every thread with the kept capabilities and no way to more.
func dropCapabilities() error {
	all := func(what string, trap, a1, a2, a3 uintptr) error {
		// On every thread: a prctl by itself would leave the others able.
		if _, _, errno := syscall.AllThreadsSyscall6(trap, a1, a2, a3, 0, 0, 0); errno != 0 {
			return fmt.Errorf("%s: %w (the binary must be built with CGO_ENABLED=0)", what, errno)
		}
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if kept&(1<<c) != 0 {
			continue
		}
		if known, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil || known == 0 {
			continue // a capability this kernel has not, or that is gone already
		}
		if err := all("drop a capability from the bounding set", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := all("drop capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); err != nil {
		return err
	}
	return all("give up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}
