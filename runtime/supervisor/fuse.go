package supervisor

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
)

const (
	fuseDevice = "/dev/fuse"
	fuseRead   = 1 << 20 // bytes of one request, as the daemon answers them
)

// openFuse opens the FUSE device n times. The kernel wants it opened in the user
// namespace it is mounted in.
func openFuse(n int) (files []*os.File, err error) {
	for range n {
		fd, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(files)
			return nil, &fault.Error{Kind: fault.Host, Message: "cannot open " + fuseDevice + ": the workspace is served through it",
				Err: err, Fix: "run `lazaret doctor`"}
		}
		files = append(files, os.NewFile(uintptr(fd), fuseDevice))
	}
	return files, nil
}

// mountFuse mounts the connection behind device at target. Whoever is in this user
// namespace or one below may use it; the kernel judges by mode and owner, the file
// system by name.
func mountFuse(device *os.File, target string) error {
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions,max_read=%d", device.Fd(), fuseRead)
	if err := unix.Mount("lazaret", target, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return &fault.Error{Kind: fault.Host, Message: fmt.Sprintf("cannot mount the workspace file system at %q", target),
			Err: err, Fix: "run `lazaret doctor`"}
	}
	return nil
}

// transient makes the generation's own storage: a tmpfs that is mounted nowhere.
func transient(size uint64) (_ *os.File, err error) {
	if size == 0 {
		size = transientBytes
	}
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open the workspace's memory: %w", err)
	}
	defer unix.Close(fs)
	err = errors.Join(unix.FsconfigSetString(fs, "size", strconv.FormatUint(size, 10)),
		unix.FsconfigSetString(fs, "mode", "0700"), unix.FsconfigCreate(fs))
	if err != nil {
		return nil, fmt.Errorf("make the workspace's memory: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, fmt.Errorf("mount the workspace's memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "transient"), nil
}
