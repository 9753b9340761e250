// Package client is the only way in to a Host Coordinator: one Session per
// connection. It knows nothing of where the connection comes from; package spawn
// finds or starts the coordinator, and a later transport may not be local.
package client
