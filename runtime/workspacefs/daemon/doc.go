// Package daemon is the process that serves the workspace file system: Lazaret's
// hidden mode of that name, started by the Runtime Supervisor.
//
// It owns how that process lives: what it gives up before it reads anything, the order
// of its start, and its end with the socket. What it serves is fusefs's, and what is
// decided route's.
//
// It promises that nothing of the host but the descriptors it was handed is within its
// reach: its root is an empty tmpfs with proc in it, it has the capabilities file
// access needs and none besides, and it starts nothing.
//
// It must never import the supervisor.
package daemon
