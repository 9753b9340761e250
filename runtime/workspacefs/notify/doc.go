// Package notify decides which paths of the workspace the guest must be poked for
// after the host changed something: gVisor raises no event inside for it. A poke
// sets the mode of a path to what it is, which raises an attribute event (IN_ATTRIB
// of inotify(7)) for watchers of the path and of its directory.
//
//	changed on the host      poked
//	content, attributes      the path
//	created or replaced      the path and its directory
//	removed, moved away      its directory
//	more than Fold names     their directory alone
//	everything (overflow)    the top of the workspace
//
// It promises bounds: a rate, a queue, and a merging of what happens within the
// settling time. A lost poke costs a watcher inside a late look, never a wrong one.
//
// Pokes cannot loop. A poke arrives at the file system as a change of attributes to
// what they are, which it answers without touching the host; and would it touch the
// host, the event would carry the daemon's own process id, which watch drops.
//
// It imports only runtime/workspacefs/watch, for the kinds of changes.
package notify
