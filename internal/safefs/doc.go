// Package safefs writes the host's own small private files so that a crash leaves
// the old content or the new one, and reads such files where others may have put
// something else. It promises mode 0600, never follows what stands at the target,
// and never reads what is not a regular file. It imports nothing of Lazaret.
package safefs
