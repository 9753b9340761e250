// Package term turns the bytes of an untrusted program into cells, and guest text
// into text that is safe to draw. It owns the Emulator seam, its engines, and the
// one sanitiser; nothing else imports the emulator library.
//
//	bytes ─► parser ─► engine ──────► core (vt10x | native)
//	          shape     meaning        cells of one screen
//	                      ├─► history (lines that scrolled off)
//	                      └─► replies, events, title, modes
//
// It promises that no input makes it panic, hang or grow beyond its caps, and that no
// control character, bidi control or hidden character ever gets into a cell. It never
// imports an event loop, a view or a client.
package term
