// Package session is one Client Session inside a Host Coordinator: the terminal
// or pipes of its command, the connection of its client, and the event loop that
// serialises everything between them (S2 §3.3).
//
// It promises that output reaches the client in order and complete before the one
// Exit, that a client which does not read stops its own program and nothing else,
// and that a lost client or a Close ends every process of the session.
//
// Goroutines of a session, all waited for by Run:
//
//	reader   connection → loop, and input bytes → inbox (bounded by credit)
//	writer   outbox → connection
//	input    inbox → terminal
//	pump     terminal → outbox, one per stream; waits when the outbox is full
//	worker   calls into the sandbox and the desk, which may take time
//	loop     Run itself; owns every decision
//
// It imports no server, no store and no concrete runtime.
package session
