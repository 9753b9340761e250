// Package leader is the leader of a terminal session on the host: a process of the
// guest binary that has the session's pseudo-terminal as its controlling terminal and
// tells its starter of every signal the kernel sends there.
//
// A sandbox's process cannot be that leader: the kernel knows only the sentry, which
// belongs to no terminal. What typed ^C, ^Z and ^\, window changes and the hangup of
// the terminal become is a signal to a host process, and this is the one.
//
// It reads and writes nothing of the terminal. It never imports anything of Lazaret,
// because it starts with every session.
package leader
