// Package credential carries one login file between an Agent Profile and its
// Domains, so that a developer logs an agent in once.
//
// The profile's copy lies in <data_root>/<profile>/credential on the host; a
// Domain's copy lies at the path the profile names inside the sandbox. The package
// owns which of the two is newer, and promises that nothing but one vetted file of
// at most MaxBytes crosses, in either direction, and that each copy is replaced
// whole or not at all. What it reads from a sandbox is hostile: it is size-capped,
// checked for its form, and never interpreted.
//
// It imports nothing of Lazaret; the sandbox is the small interface Files.
package credential
