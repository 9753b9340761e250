// Package server is the Host Coordinator: one process per live Domain that holds
// its lock, its sandbox, its sessions and its socket, and ends with its last
// client.
//
// Server serves a sandbox that runs; Main is the whole process around it, from
// the inherited plan to the proof in the log. What happens when is decided by
// package lifecycle; here it is done.
//
// Lock order: Server.mu is taken alone. Nothing that waits for a client, the
// sandbox or the desk is done under it.
package server
