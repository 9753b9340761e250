package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The Escalation Mailbox is a tmpfs of its own, so that a guest that fills it fills
// nothing else. It holds requests in flight, not their output.
const (
	mailboxBytes  = 8 << 20
	mailboxInodes = 1024
)

// mountMailbox mounts the mailbox in the room and opens its two directories.
func mountMailbox() (requests, results *os.File, err error) {
	options := fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", mailboxBytes, mailboxInodes)
	if err := unix.Mount("mailbox", roomMailbox, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return nil, nil, fmt.Errorf("mount the mailbox: %w", err)
	}
	root, err := os.Open(roomMailbox)
	if err != nil {
		return nil, nil, fmt.Errorf("open the mailbox: %w", err)
	}
	defer root.Close()
	return makeMailbox(root)
}

// detachedMailbox makes a mailbox that is mounted nowhere, for a coordinator that is
// root: in a tmpfs of the supervisor's namespace its own id would have no name. The
// tree is id-mapped for the supervisor to attach.
func detachedMailbox(userNS *os.File) (tree, requests, results *os.File, err error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open a file system for the mailbox: %w", err)
	}
	defer unix.Close(fs)
	for key, value := range map[string]string{
		"size": fmt.Sprint(mailboxBytes), "nr_inodes": fmt.Sprint(mailboxInodes), "mode": "0755",
	} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return nil, nil, nil, fmt.Errorf("configure the mailbox's %s: %w", key, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, nil, nil, fmt.Errorf("create the mailbox: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("mount the mailbox: %w", err)
	}
	root := os.NewFile(uintptr(fd), "mailbox")
	defer root.Close()
	if requests, results, err = makeMailbox(root); err != nil {
		return nil, nil, nil, err
	}
	if tree, err = cloneMapped(root, userNS); err != nil {
		closeAll([]*os.File{requests, results})
		return nil, nil, nil, err
	}
	return tree, requests, results, nil
}

func cloneMapped(root, userNS *os.File) (*os.File, error) {
	fd, err := unix.OpenTree(int(root.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return nil, fmt.Errorf("clone the mailbox: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(userNS.Fd())}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map the ids of the mailbox: %w", err)
	}
	return os.NewFile(uintptr(fd), "mailbox"), nil
}

// makeMailbox makes the two directories in root. Any guest user may ask, so anyone
// inside may create a request, and only its owner may replace it.
func makeMailbox(root *os.File) (requests, results *os.File, err error) {
	open := func(name string, mode uint32) (*os.File, error) {
		at := int(root.Fd())
		if err := unix.Mkdirat(at, name, 0o700); err != nil {
			return nil, fmt.Errorf("make mailbox directory %q: %w", name, err)
		}
		if err := unix.Fchmodat(at, name, mode, 0); err != nil {
			return nil, fmt.Errorf("open up mailbox directory %q: %w", name, err)
		}
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open mailbox directory %q: %w", name, err)
		}
		return os.NewFile(uintptr(fd), filepath.Join(roomMailbox, name)), nil
	}
	if requests, err = open("requests", 0o1777); err != nil {
		return nil, nil, err
	}
	if results, err = open("results", 0o755); err != nil {
		requests.Close()
		return nil, nil, err
	}
	return requests, results, nil
}
