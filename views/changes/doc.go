// Package changes is the list of what a sandbox did in the workspace since the
// developer last looked. It knows which of its rows have been on the screen, and
// says so when it closes: only a list seen to its end counts as looked at.
package changes
