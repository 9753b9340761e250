// Package term turns the bytes of an untrusted program into cells, and guest text
// into text that is safe to draw. It owns the Emulator seam, its engines, and the
// one sanitiser. Nothing else imports the emulator library.
package term
