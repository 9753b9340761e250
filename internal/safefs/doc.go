// Package safefs writes the host's own small private files so that a crash leaves
// the old content or the new one. It promises mode 0600 and never follows what
// stands at the target; it imports nothing of Lazaret.
package safefs
