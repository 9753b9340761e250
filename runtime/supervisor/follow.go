package supervisor

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// follow reads what RS reports until runsc runs.
func (b *boot) follow(ctx context.Context, network <-chan error) error {
	// A network that fails leaves RS waiting; ending RS ends the wait here.
	failed := make(chan error, 1)
	go func() {
		err := <-network
		if err != nil {
			_ = b.rs.Signal(unix.SIGKILL)
		}
		failed <- err
	}()
	for {
		m, files, err := b.channel.receive()
		if err != nil {
			return errors.Join(<-failed, unlessEOF(err))
		}
		switch m.Kind {
		case kindStep:
			b.begin(m.Text)
		case kindMailbox:
			if len(files) == 2 {
				b.takeMailbox(files[0], files[1])
				files = nil
			}
		case kindRunning:
			closeAll(files)
			if b.requests == nil {
				return errors.New("the supervisor made no mailbox")
			}
			return <-failed
		case kindFailed:
			closeAll(files)
			return m.err()
		}
		closeAll(files)
	}
}

// hear returns RS's last words where it has any, instead of err.
func (b *boot) hear(err error) error {
	for {
		m, files, rerr := b.channel.receive()
		closeAll(files)
		switch {
		case rerr != nil:
			return err
		case m.Kind == kindFailed:
			return m.err()
		case m.Kind == kindEnded:
			return errors.New(m.Text)
		}
	}
}

// unlessEOF drops the error that only says that the other end is gone.
func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the supervisor ended early")
	}
	return err
}
