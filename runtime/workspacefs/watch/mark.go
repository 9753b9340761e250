package watch

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// handleFID (AT_HANDLE_FID, Linux 6.5) asks for a handle to compare with, which
// overlayfs and others give who have none to open by. Where it is the other kind
// that exists, both are equal.
const handleFID = 0x200

// remote are file systems that other computers, or a program of the user's, may
// change without this kernel's doing (statfs(2)). FUSE stands for virtiofs too.
var remote = []int64{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
	unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
	unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC, unix.NCP_SUPER_MAGIC,
	0x786f4256, // VirtualBox shared folders
	0x01161970, // GFS2
	0x0bd00bd0, // Lustre
}

// Add watches the directory behind the descriptor, which may be O_PATH, under a
// name of the caller's. What other processes change in it from now on is reported,
// whatever becomes of its path. One directory may be added under several keys;
// adding it again under the same is harmless. The descriptor stays the caller's.
//
// An error wraps ErrLimit, ErrUnsupported, ErrRemote or ErrDenied; the first of
// each is told to Options.Degraded.
func (w *Watcher) Add(dir int, key uint64) error {
	err := w.add(dir, key)
	if err == nil {
		return nil
	}
	why := reason(err)
	if told := w.refuse(key, why); told != nil && w.options.Degraded != nil {
		w.options.Degraded(told)
	}
	return fmt.Errorf("watch a directory: %w", err)
}

func (w *Watcher) add(dir int, key uint64) error {
	id, err := identify(dir)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old, known := w.names[key]
	if known && old == id {
		return nil
	}
	if known {
		return fmt.Errorf("key %d is another directory's", key)
	}
	if _, has := w.keys[id]; !has {
		if err := w.mark(dir); err != nil {
			return err
		}
	}
	w.keys[id] = append(w.keys[id], key)
	w.names[key] = id
	delete(w.unwatched, key)
	return nil
}

// mark asks the kernel. w.mu is held: Run, which may read of the directory at
// once, looks the key up under the same lock. The path "." is the descriptor's own
// directory; without a path, O_PATH descriptors are refused.
func (w *Watcher) mark(dir int) error {
	if len(w.keys) >= w.options.MaxMarks {
		return ErrLimit
	}
	const flags = unix.FAN_MARK_ADD | unix.FAN_MARK_ONLYDIR | unix.FAN_MARK_DONT_FOLLOW
	if err := unix.FanotifyMark(w.fd, flags, marked, dir, "."); err != nil {
		return wrap("mark", err)
	}
	return nil
}

// wrap keeps both the sentinel and the errno.
func wrap(verb string, err error) error {
	if why := reason(err); !errors.Is(err, why) {
		return fmt.Errorf("%w: %s: %w", why, verb, err)
	}
	return fmt.Errorf("%s: %w", verb, err)
}

// identify returns what events of the directory carry.
func identify(dir int) (string, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(dir, &st); err != nil {
		return "", wrap("look at the file system", err)
	}
	if slices.Contains(remote, int64(uint32(st.Type))) {
		return "", ErrRemote
	}
	handle, _, err := unix.NameToHandleAt(dir, "", unix.AT_EMPTY_PATH|handleFID)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.5
		handle, _, err = unix.NameToHandleAt(dir, "", unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return "", wrap("take a file handle", err)
	}
	return identity(st.Fsid, handle), nil
}

// Remove ends the watch that Add began for key, if there is one. The kernel finds
// a mark only by its directory: dir is a descriptor of it. With a negative one the
// mark stays until the directory is removed or the Watcher closed, silent, and
// counts; Add can take it up again.
func (w *Watcher) Remove(key uint64, dir int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.unwatched, key)
	id, known := w.names[key]
	if !known {
		return nil
	}
	delete(w.names, key)
	w.keys[id] = slices.DeleteFunc(w.keys[id], func(k uint64) bool { return k == key })
	if len(w.keys[id]) > 0 || dir < 0 {
		return nil
	}
	delete(w.keys, id)
	// ENOENT: the kernel removed it with the directory.
	err := unix.FanotifyMark(w.fd, unix.FAN_MARK_REMOVE|unix.FAN_MARK_ONLYDIR|unix.FAN_MARK_DONT_FOLLOW, marked, dir, ".")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("stop watching a directory: %w", err)
	}
	return nil
}

// refuse records that key is not watched and returns what a person must be told,
// nil when they were.
func (w *Watcher) refuse(key uint64, why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unwatched[key] = why
	for _, known := range []error{ErrLimit, ErrUnsupported, ErrRemote, ErrDenied} {
		if errors.Is(why, known) && !w.told[known] {
			w.told[known] = true
			return advice(known, len(w.keys))
		}
	}
	return nil
}
