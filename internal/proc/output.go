package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// maxOutput bounds each of the two streams Output keeps, in bytes.
const maxOutput = 1 << 20

// Output runs spec to its end and returns what it wrote, at most 1 MiB of each
// stream; more is read and dropped so that the child is never held up. Files[0]
// is its input; Files[1] and [2] are replaced. The child is killed when ctx ends.
// A non-zero exit is not an error. A descendant that keeps the streams open keeps
// Output waiting, so ctx should have an end.
func Output(ctx context.Context, spec Spec) (stdout, stderr []byte, exit Exit, err error) {
	var stdoutPipe, stderrPipe capture
	if err := stdoutPipe.open(); err != nil {
		return nil, nil, Exit{}, err
	}
	defer stdoutPipe.close()
	if err := stderrPipe.open(); err != nil {
		return nil, nil, Exit{}, err
	}
	defer stderrPipe.close()

	files := make([]*os.File, max(3, len(spec.Files)))
	copy(files, spec.Files)
	files[1], files[2] = stdoutPipe.w, stderrPipe.w
	spec.Files = files
	p, err := Start(spec)
	if err != nil {
		return nil, nil, Exit{}, err
	}
	stdoutPipe.begin()
	stderrPipe.begin()
	exit, err = p.Wait(ctx)
	if err != nil {
		_ = p.Signal(unix.SIGKILL)
		<-p.Done()
		err = fmt.Errorf("run %q: %w", spec.Path, ctx.Err())
		// A grandchild may hold the pipes for ever: do not wait for their end.
		stdoutPipe.r.Close()
		stderrPipe.r.Close()
	}
	return stdoutPipe.end(ctx), stderrPipe.end(ctx), exit, err
}

// capture reads one stream of a child into memory.
type capture struct {
	r, w *os.File
	buf  bytes.Buffer
	done chan struct{}
}

func (c *capture) open() (err error) {
	if c.r, c.w, err = os.Pipe(); err != nil {
		return fmt.Errorf("make a pipe for a child's output: %w", err)
	}
	return nil
}

func (c *capture) begin() {
	c.w.Close()
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		// Errors end the stream; what was read so far is the answer.
		_, _ = io.CopyN(&c.buf, c.r, maxOutput)
		_, _ = io.Copy(io.Discard, c.r)
	}()
}

func (c *capture) end(ctx context.Context) []byte {
	select {
	case <-c.done:
	case <-ctx.Done():
		c.r.Close()
		<-c.done
	}
	return c.buf.Bytes()
}

func (c *capture) close() {
	c.r.Close()
	c.w.Close()
}

// LookPath finds an executable in this process's PATH and returns its absolute
// path. It never returns one found through a relative PATH entry.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find program %q: %w", name, err)
	}
	return path, nil
}
