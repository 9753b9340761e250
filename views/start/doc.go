// Package start is the picker of a new session: a profile and, if wanted, another
// command than the profile's own.
package start
