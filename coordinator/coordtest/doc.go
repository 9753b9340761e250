// Package coordtest runs a Host Coordinator's server in the test's own process,
// over Unix sockets and the fake runtime, with named actors in front of it.
package coordtest
