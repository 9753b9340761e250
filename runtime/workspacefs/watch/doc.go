// Package watch tells which names other processes change in directories of the
// host, so that a file system above them may cache for long. It needs no
// privilege: it is fanotify(7) with inode marks and names instead of descriptors,
// which an ordinary user may have since Linux 5.13, in a user namespace too.
//
// It promises that whatever changes in a directory after Add returned is reported,
// or that Overflow is called, or that Add failed and said so: a caller that marks
// first and reads afterwards never keeps something stale for good. What this very
// process does is left out; the kernel shows an unprivileged group its own process
// id and no other. A directory that Add refuses must be given short cache times by
// the caller; so must all of them when New fails (an older kernel, a container's
// system call filter).
//
// What it cannot see, by the nature of fanotify: writes through a shared mapping
// until the writer closes the file, changes below the mount of a network file
// system made elsewhere (Add refuses those), and a file changed through a hard
// link in an unmarked directory.
//
// It imports only internal/fault. It must never import the file system it serves.
package watch
