// Package changes is what a Domain's sandboxes did in the workspace since the
// developer last looked, and what they made that waits to be accepted. Look reads it
// all at one moment; Seen records that moment as looked at.
//
// Journal and Domain storage are the sandbox's: they are read through journal and
// state, which treat them as hostile, and every name in a Report is still to be
// sanitised. It changes nothing but the record of what was looked at, and never
// imports what shows it.
package changes
