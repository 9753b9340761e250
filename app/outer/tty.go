package outer

import "os"

// TTY is the terminal's input for the event loop. It is a file, so that the loop
// can wait on it and be cancelled, but what is read goes to Deliver byte for byte:
// the loop's own decoder would lose a third of the sequences.
type TTY struct {
	*os.File
	Deliver func([]byte)
	buf     [32 << 10]byte
}

// Read delivers what the terminal sent and returns nothing for the loop's decoder.
func (t *TTY) Read([]byte) (int, error) {
	n, err := t.File.Read(t.buf[:])
	if n > 0 {
		t.Deliver(append([]byte(nil), t.buf[:n]...))
	}
	return 0, err
}
