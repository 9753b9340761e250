package supervisor

import (
	"os"
	"strings"
	"sync"
)

// tail keeps the last of what a child says on its error stream. The reader ends
// with the last holder of the other end.
type tail struct {
	w    *os.File // the child's end
	done chan struct{}

	mu  sync.Mutex
	buf []byte
}

const maxTail = 16 << 10 // bytes

func newTail() (*tail, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t := &tail{w: w, done: make(chan struct{})}
	go t.read(r)
	return t, nil
}

func (t *tail) read(r *os.File) {
	defer close(t.done)
	defer r.Close()
	chunk := make([]byte, 4096)
	for {
		n, err := r.Read(chunk)
		t.mu.Lock()
		t.buf = append(t.buf, chunk[:n]...)
		if over := len(t.buf) - maxTail; over > 0 {
			t.buf = append(t.buf[:0], t.buf[over:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// started closes this process's copy of the child's end.
func (t *tail) started() { t.w.Close() }

// text returns what there is, in one line. Part of it is the guest's, so every
// control character is taken out.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(t.buf), "?"))), " ")
}
