// Package journal is the record of what the sandbox did to the shared tree, and of
// the rule files whose content the developer has not accepted yet.
//
//	Journal   one Entry per path: what happened to it, first and last time, why it
//	          matters; bounded in paths and bytes, the least telling forgotten first
//	Point     a moment in a journal, by sequence number: no clock step can move it
//	Pins      rule file → the content that is in force, and who wrote the file last
//	Writer    puts a Journal or Pins into a file, at most once a second
//
// Both files lie in Domain storage, which the sandbox's ids own, so whoever reads
// them back treats them as hostile: sizes are capped before a byte is read, every
// field is checked, and what does not hold is refused as a whole.
//
// Note is called on the hot path of a file system and allocates only for a path
// that is new. The package opens no path; a directory descriptor is all it gets. It
// imports the names of marks from route and must never import the file system.
package journal
