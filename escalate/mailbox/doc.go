// Package mailbox is the host's end of the Escalation Mailbox's two directories.
//
// It owns how files there are found, opened, read and removed, and how results
// appear in one piece. Everything in the requests directory was written by the
// sandbox: an entry is opened relative to the directory's own descriptor without
// following anything, is read once and only when it is a small regular file, and
// is removed whatever it was. It parses names, never content.
package mailbox
