package image

import (
	"fmt"
	"os"

	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// inRoot is everything unpacking needs below the root directory: no execution,
// no device nodes, no sockets.
const inRoot = landlock.AccessFSSet(ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSReadDir |
	ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
	ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer)

// kept are the capabilities unpacking needs in its user namespace: to change root
// once, to give files their owners, modes and file capabilities, and to work in
// trees it gave away.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_FSETID | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_SETFCAP

// confine makes the root directory, an open descriptor, the only directory this
// process can reach, twice over: by Landlock, and as its root. It returns the path
// the root directory then has, and a note if only the second held. Precondition: this process has a user namespace of
// its own.
//
// The order is given: changing capabilities and entering Landlock on every thread
// takes /proc, which is out of reach afterwards. The root is changed by chroot(2)
// and not pivot_root(2), because the directory belongs to the starter's mount
// namespace, and the path to it may lead through directories the mapped root may
// not enter.
func confine(root int, j job) (path, note string, err error) {
	if err := unix.Fchdir(root); err != nil {
		return "", "", fmt.Errorf("enter root directory: %w", err)
	}
	path, err = os.Getwd()
	if err != nil && j.Switch.NoChroot {
		return "", "", fmt.Errorf("enter root directory: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return "", "", err
	}
	if !j.Switch.NoLandlock {
		err := restrict(".")
		if err != nil && j.Strict {
			return "", "", fmt.Errorf("restrict the worker by Landlock: %w", err)
		}
		if err != nil {
			note = fmt.Sprintf("unpacked without Landlock, by a changed root alone: %v", err)
		}
	}
	if j.Switch.NoChroot {
		return path, note, nil
	}
	if err := unix.Chroot("."); err != nil {
		return "", "", fmt.Errorf("change root: %w", err)
	}
	return "/", note, nil
}

// dropCapabilities leaves every thread with the kept capabilities only.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	// Two words of 32 bits each; all kept ones lie in the first.
	data := [2]unix.CapUserData{{Effective: kept & 0xffffffff, Permitted: kept & 0xffffffff}}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// restrict limits every thread of this process to the directory path. The newest
// rule set the kernel knows is used; the oldest that lets files be renamed and
// linked between directories is Linux 5.19's.
func restrict(path string) error {
	truncating := landlock.PathAccess(inRoot|ll.AccessFSTruncate, path)
	if err := landlock.V3.RestrictPaths(truncating); err == nil {
		return nil
	}
	return landlock.V2.RestrictPaths(landlock.PathAccess(inRoot, path))
}
