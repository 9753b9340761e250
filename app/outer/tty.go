package outer

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// TTY is the terminal's input for the event loop. It is a file, so that the loop
// can wait on it and be cancelled, but what is read goes to Deliver byte for byte:
// the loop's own decoder would lose a third of the sequences.
type TTY struct {
	*os.File
	Deliver func([]byte)
	buf     [32 << 10]byte
}

// Read delivers what the terminal sent and returns nothing for the loop's decoder.
// The end of a terminal's input is that it was hung up, which the loop would pass
// over; there need not be a signal, since only the session's leader gets one.
func (t *TTY) Read([]byte) (int, error) {
	n, err := t.File.Read(t.buf[:])
	if n > 0 {
		t.Deliver(append([]byte(nil), t.buf[:n]...))
	}
	if errors.Is(err, io.EOF) {
		err = unix.EIO
	}
	return 0, err
}
