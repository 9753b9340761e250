package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
)

// Errors a caller may branch on; the rest is text.
var (
	ErrClosed     = errors.New("guest control channel closed")
	ErrNotFound   = fmt.Errorf("not found in the sandbox: %w", fs.ErrNotExist)
	ErrTooLarge   = errors.New("larger than the limit")
	ErrNotRegular = errors.New("not a regular file")
	ErrBusy       = errors.New("the sandbox leaves too many requests unanswered")
)

// Client is the host's side of the channel. Its methods may overlap. It owns both
// ends it was given and closes them.
type Client struct {
	w io.WriteCloser
	r io.ReadCloser

	out   chan Request  // to the writer; its capacity is maxOpen, so sends never block
	ready chan struct{} // closed by the ready frame
	done  chan struct{} // closed by fail

	// mu protects the fields below.
	mu      sync.Mutex
	next    uint64
	pending map[uint64]*call
	err     error // set once, before done is closed
}

// call is one request without an answer. A caller that gave up leaves its call in
// place: the answer may still come and is then no violation.
type call struct {
	limit int // bytes of Data allowed in the answer
	reply chan Reply
}

// NewClient starts the conversation: w leads to the init's standard input, r comes
// from its standard output.
func NewClient(w io.WriteCloser, r io.ReadCloser) *Client {
	c := &Client{
		w: w, r: r,
		out:     make(chan Request, maxOpen),
		ready:   make(chan struct{}),
		done:    make(chan struct{}),
		pending: map[uint64]*call{},
	}
	go c.write()
	go c.read()
	return c
}

// Ready waits for the init's first frame.
func (c *Client) Ready(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return fmt.Errorf("wait for the guest init: %w", ctx.Err())
	}
}

// Done is closed when the channel has ended; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the channel ended, nil while it lives.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the channel, which ends the guest init.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	return nil
}

// Poke makes watchers of the guest path look again.
func (c *Client) Poke(ctx context.Context, path string) error {
	_, err := c.do(ctx, Request{Op: OpPoke, Path: path}, 0)
	return err
}

// EndSession kills every process of the session and returns how many it reached.
// A session that does not exist (any more) is ErrNotFound.
func (c *Client) EndSession(ctx context.Context, id domain.SessionID) (int, error) {
	reply, err := c.do(ctx, Request{Op: OpEndSession, Session: string(id)}, 0)
	return int(reply.Count), err
}

// SignalSession sends sig to the session's foreground process group.
func (c *Client) SignalSession(ctx context.Context, id domain.SessionID, sig unix.Signal) error {
	_, err := c.do(ctx, Request{Op: OpSignalSession, Session: string(id), Signal: uint8(sig)}, 0)
	return err
}

// ReadFile returns the content of a regular file, at most limit bytes long and
// never longer than MaxFile; a longer file is ErrTooLarge.
func (c *Client) ReadFile(ctx context.Context, path string, limit int) ([]byte, error) {
	limit = min(limit, MaxFile)
	reply, err := c.do(ctx, Request{Op: OpReadFile, Path: path, Limit: uint32(max(limit, 0))}, limit)
	return reply.Data, err
}

// WriteFile replaces or creates the file by rename, making its parents.
func (c *Client) WriteFile(ctx context.Context, path string, mode uint32, data []byte) error {
	if len(data) > MaxFile {
		return fmt.Errorf("write guest file %q of %d bytes: %w", path, len(data), ErrTooLarge)
	}
	_, err := c.do(ctx, Request{Op: OpWriteFile, Path: path, Mode: mode, Data: data}, 0)
	return err
}

// Stats returns what the guest says of itself.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	reply, err := c.do(ctx, Request{Op: OpStats}, 0)
	if err != nil || reply.Stats == nil {
		return Stats{}, err
	}
	return *reply.Stats, nil
}

func (c *Client) do(ctx context.Context, req Request, limit int) (Reply, error) {
	if len(req.Path) > MaxPath {
		return Reply{}, fmt.Errorf("%s: path of %d bytes: %w", req.describe(), len(req.Path), ErrTooLarge)
	}
	pending, err := c.send(&req, limit)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", req.describe(), err)
	}
	select {
	case reply := <-pending.reply:
		if err := reply.failure(); err != nil {
			return reply, fmt.Errorf("%s: %w", req.describe(), err)
		}
		return reply, nil
	case <-c.done:
		return Reply{}, fmt.Errorf("%s: %w", req.describe(), c.Err())
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("%s: %w", req.describe(), ctx.Err())
	}
}

func (c *Client) send(req *Request, limit int) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if len(c.pending) >= maxOpen {
		return nil, ErrBusy
	}
	c.next++
	req.ID = c.next
	pending := &call{limit: limit, reply: make(chan Reply, 1)}
	c.pending[req.ID] = pending
	c.out <- *req // never blocks: at most maxOpen are pending
	return pending, nil
}

// write owns w. A guest that stops reading blocks it, and nobody else.
func (c *Client) write() {
	defer c.w.Close()
	for {
		select {
		case req := <-c.out:
			if err := WriteFrame(c.w, req); err != nil {
				c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
				return
			}
		case <-c.done:
			return
		}
	}
}

// read owns r and every decision about what the guest may say.
func (c *Client) read() {
	var first Reply
	if err := readFrame(c.r, 1024, &first); err != nil {
		c.fail(fmt.Errorf("%w before the guest init was ready: %w", ErrClosed, err))
		return
	}
	if first.ID != 0 || first.Code != CodeOK || first.Count != Version {
		c.fail(fmt.Errorf("%w: first frame is not ready in version %d", ErrProtocol, Version))
		return
	}
	close(c.ready)
	for {
		var reply Reply
		if err := ReadFrame(c.r, &reply); err != nil {
			c.fail(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
		if err := c.deliver(reply); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *Client) deliver(reply Reply) error {
	c.mu.Lock()
	pending, ok := c.pending[reply.ID]
	delete(c.pending, reply.ID)
	c.mu.Unlock()
	switch {
	case !ok:
		return fmt.Errorf("%w: answer %d to nothing asked", ErrProtocol, reply.ID)
	case len(reply.Data) > pending.limit:
		return fmt.Errorf("%w: %d bytes in an answer limited to %d", ErrProtocol, len(reply.Data), pending.limit)
	case len(reply.Message) > maxMessage, reply.Count > maxCount:
		return fmt.Errorf("%w: answer %d is out of bounds", ErrProtocol, reply.ID)
	}
	pending.reply <- reply
	return nil
}

// fail ends the channel with err; only the first call counts. The writer may be
// blocked on w and the reader on r, so both are closed under them.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.w.Close()
	c.r.Close()
}

func (r Request) describe() string {
	switch r.Op {
	case OpPoke:
		return "poke guest path " + strconv.Quote(r.Path)
	case OpEndSession:
		return "end session " + strconv.Quote(r.Session)
	case OpSignalSession:
		return "signal session " + strconv.Quote(r.Session)
	case OpReadFile:
		return "read guest file " + strconv.Quote(r.Path)
	case OpWriteFile:
		return "write guest file " + strconv.Quote(r.Path)
	case OpStats:
		return "read guest statistics"
	}
	return "ask the guest init"
}

// failure turns the outcome into an error. The guest's own words are quoted, so
// that they cannot draw anything where the error is shown.
func (r Reply) failure() error {
	switch r.Code {
	case CodeOK:
		return nil
	case CodeNotFound:
		return ErrNotFound
	case CodeTooLarge:
		return ErrTooLarge
	case CodeNotRegular:
		return ErrNotRegular
	}
	return fmt.Errorf("guest init answered %s", strconv.QuoteToASCII(r.Message))
}
