package session

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/runtime"
)

// drainBytes is more than any pipe or terminal can still hold when its last
// writer is gone (F_SETPIPE_SZ allows 1 MiB). Who writes more still runs.
const drainBytes = 2 << 20

// terminal is the coordinator's end of a session's pseudo-terminal or pipes, and
// until the command has them, the command's end.
type terminal struct {
	input   *os.File // master, or the write end of standard input
	master  *os.File // nil without a terminal
	outputs []output
	child   []*os.File // closed once the command has its own copies

	drain   time.Duration
	ending  atomic.Bool  // the command is over; what is left is being drained
	drained atomic.Int64 // bytes read since
}

type output struct {
	stream wire.Stream
	file   *os.File
}

// openTerminal opens what start asks for and fills the files of spec.
func openTerminal(start wire.Start, drain time.Duration, spec *runtime.ExecSpec) (*terminal, error) {
	if start.TTY {
		master, slave, err := openPTY(start.Size)
		if err != nil {
			return nil, err
		}
		spec.TTY = slave
		return &terminal{
			input: master, master: master, drain: drain,
			outputs: []output{{wire.StreamTTY, master}},
			child:   []*os.File{slave},
		}, nil
	}
	return openPipes(drain, spec)
}

func openPipes(drain time.Duration, spec *runtime.ExecSpec) (*terminal, error) {
	t := &terminal{drain: drain}
	var ours [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			t.close()
			closeAll(ours[:])
			return nil, fmt.Errorf("open pipes of session: %w", err)
		}
		inner, outer := w, r
		if i == 0 {
			inner, outer = r, w
		}
		ours[i] = outer
		t.child = append(t.child, inner)
	}
	spec.Stdin, spec.Stdout, spec.Stderr = t.child[0], t.child[1], t.child[2]
	t.input = ours[0]
	t.outputs = []output{{wire.StreamStdout, ours[1]}, {wire.StreamStderr, ours[2]}}
	return t, nil
}

// release closes the command's ends: it has its own copies now, or never will.
func (t *terminal) release() {
	closeAll(t.child)
	t.child = nil
}

// resize tells the session's terminal its size; without one there is nothing to do.
func (t *terminal) resize(size wire.Size) error {
	if t.master == nil {
		return nil
	}
	return setSize(t.master, size)
}

// endInput passes the end of input on. A terminal has no such thing: its end of
// file is a byte the client types.
func (t *terminal) endInput() {
	if t.master == nil {
		t.input.Close()
	}
}

// pump reads one stream until its end and hands what it reads to write, which
// may wait for the client. Once the command is over it waits no longer than the
// drain deadline for bytes that are not there: a process that left the session
// may hold the other end open for ever.
func (t *terminal) pump(o output, write func(wire.Stream, []byte)) {
	buffer := make([]byte, wire.MaxChunk)
	for {
		n, err := o.file.Read(buffer)
		if n > 0 {
			write(o.stream, buffer[:n])
		}
		if err != nil {
			return
		}
		if !t.ending.Load() {
			continue
		}
		if t.drained.Add(int64(n)) > drainBytes {
			return
		}
		// The time spent in write was the client's, not the program's.
		o.file.SetReadDeadline(time.Now().Add(t.drain))
	}
}

// end starts the drain.
func (t *terminal) end() {
	if t.ending.Swap(true) {
		return
	}
	for _, o := range t.outputs {
		o.file.SetReadDeadline(time.Now().Add(t.drain))
	}
}

// feed writes input to the command until the input ends, telling grant how much
// was taken. A command that closed its input swallows the rest.
func (t *terminal) feed(in *inbox, grant func(int)) {
	broken := false
	for {
		data, eof := in.take()
		if data == nil {
			if eof {
				t.endInput()
			}
			return
		}
		if !broken {
			_, err := t.input.Write(data)
			broken = err != nil
			if errors.Is(err, os.ErrClosed) {
				return
			}
		}
		grant(len(data))
	}
}

// close closes the coordinator's ends and so hangs a terminal up.
func (t *terminal) close() {
	t.release()
	if t.input != nil {
		t.input.Close()
	}
	for _, o := range t.outputs {
		o.file.Close()
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
