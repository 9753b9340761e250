package outer_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/app/outer"
)

// What comes is delivered; the end of it is an error, since the event loop takes
// an end of file for nothing at all.
func TestTTYEnds(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got string
	tty := &outer.TTY{File: r, Deliver: func(b []byte) { got += string(b) }}
	if _, err := w.WriteString("keys"); err != nil {
		t.Fatal(err)
	}
	if n, err := tty.Read(nil); n != 0 || err != nil || got != "keys" {
		t.Errorf("Read = %d, %v; delivered %q", n, err, got)
	}
	w.Close()
	if _, err := tty.Read(nil); !errors.Is(err, unix.EIO) {
		t.Errorf("Read at the end = %v", err)
	}
}
