package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHungUp is returned when the sentry is not there, or went away before it had
// answered.
var ErrHungUp = errors.New("the sentry hung up")

// ErrMalformed is returned for an answer that no sentry of ours would give.
var ErrMalformed = errors.New("malformed answer of the sentry")

// RefusedError is what the sentry answered to a call it would not carry out.
type RefusedError struct {
	Method  string
	Message string // the sentry's words, not to be trusted
}

// Error implements error; the sentry's words are quoted.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the sandbox refused %s: %q", e.Method, e.Message)
}

const (
	maxAnswer   = 64 << 10 // bytes of one answer; real ones have some tens
	connectTime = 10 * time.Second
)

// call makes one call. Its form is that of pkg/urpc: one JSON object in each
// direction, the files with the first byte of ours. result is a pointer, or nil when
// the answer says nothing but yes.
func (c Control) call(ctx context.Context, method string, args any, files []*os.File, result any) error {
	request, err := json.Marshal(struct {
		Method string `json:"method"`
		Arg    any    `json:"arg"`
	}{"containerManager." + method, args})
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	conn, err := connect(c.socket)
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err = send(conn, request, files)
	if err == nil {
		err = decode(conn, method, result)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("call %s: %w", method, ctx.Err())
	}
	return fmt.Errorf("call %s: %w", method, err)
}

// connect opens a stream to path. It blocks while the server's queue is full, which
// a non-blocking socket would report as an error (unix(7)), for connectTime at most.
func connect(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	limit := unix.NsecToTimeval(connectTime.Nanoseconds())
	if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	for errors.Is(err, unix.EINTR) {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err == nil {
		return os.NewFile(uintptr(fd), path), nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNRESET) {
		return nil, fmt.Errorf("%w: connect: %w", ErrHungUp, err)
	}
	return nil, fmt.Errorf("connect to the sentry: %w", err)
}

// send writes data to a non-blocking socket, with files on the first byte.
func send(conn *os.File, data []byte, files []*os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for len(data) > 0 {
			n, err := unix.SendmsgN(int(fd), data, rights, nil, unix.MSG_NOSIGNAL)
			if errors.Is(err, unix.EAGAIN) {
				return false
			}
			if err != nil {
				failed = err
				return true
			}
			data, rights = data[n:], nil
		}
		return true
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("%w: send: %w", ErrHungUp, err)
	}
	return nil
}

// decode reads the answer to one call.
func decode(r io.Reader, method string, result any) error {
	var answer struct {
		Success bool            `json:"success"`
		Err     string          `json:"err"`
		Result  json.RawMessage `json:"result"`
	}
	limited := &io.LimitedReader{R: r, N: maxAnswer + 1}
	if err := json.NewDecoder(limited).Decode(&answer); err != nil {
		switch {
		case limited.N == 0:
			return fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxAnswer)
		case isSyntax(err):
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return fmt.Errorf("%w: %w", ErrHungUp, err)
	}
	if !answer.Success {
		return &RefusedError{Method: method, Message: answer.Err}
	}
	if result == nil {
		return nil
	}
	if len(answer.Result) == 0 || string(answer.Result) == "null" {
		return fmt.Errorf("%w: no result", ErrMalformed)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &mismatch)
}
