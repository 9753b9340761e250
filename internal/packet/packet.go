package packet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
)

// Limits of one packet.
const (
	MaxRecord      = 32 << 10 // bytes
	MaxDescriptors = 250      // the kernel takes 253 in one message (unix(7))
)

// Conn is one end of a packet socket. One goroutine receives; sends may overlap.
type Conn struct {
	conn *net.UnixConn
	mu   sync.Mutex // one send at a time
}

// Pair returns both ends of a new socket as files, named for errors after who is at
// the other end. Each becomes a Conn by Open.
func Pair(ours, theirs string) (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair for %s and %s: %w", ours, theirs, err)
	}
	return os.NewFile(uintptr(fds[0]), ours), os.NewFile(uintptr(fds[1]), theirs), nil
}

// Open takes over f, whatever it returns.
func Open(f *os.File) (*Conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open socket %q: %w", f.Name(), err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("open socket %q: not a Unix socket", f.Name())
	}
	return &Conn{conn: conn}, nil
}

// Send sends the record v with files, which stay the caller's. It waits while the
// other end is behind.
func (c *Conn) Send(v any, files ...*os.File) error {
	b, err := canon.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > MaxRecord || len(files) > MaxDescriptors {
		return fmt.Errorf("send %T: %d bytes and %d descriptors are too much", v, len(b), len(files))
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, _, err := c.conn.WriteMsgUnix(b, rights, nil); err != nil {
		return fmt.Errorf("send %T: %w", v, err)
	}
	return nil
}

// Receive decodes the next record into v and returns its descriptors, which become
// the caller's. It returns io.EOF when the other end is gone.
func (c *Conn) Receive(v any) (files []*os.File, err error) {
	b := make([]byte, MaxRecord)
	oob := make([]byte, unix.CmsgSpace(MaxDescriptors*4))
	n, oobn, flags, _, err := c.conn.ReadMsgUnix(b, oob)
	if errors.Is(err, unix.ECONNRESET) {
		// The other end died with a message of ours unread. Linux says so once,
		// before what it had sent us, and that is where it told why it died.
		n, oobn, flags, _, err = c.conn.ReadMsgUnix(b, oob)
	}
	if err != nil {
		return nil, fmt.Errorf("receive a message: %w", err)
	}
	if n == 0 {
		return nil, io.EOF
	}
	if files, err = descriptors(oob[:oobn]); err != nil {
		return nil, err
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		CloseAll(files)
		return nil, errors.New("receive a message: it was cut short")
	}
	if err := canon.Unmarshal(b[:n], MaxRecord, v); err != nil {
		CloseAll(files)
		return nil, fmt.Errorf("receive a message: %w", err)
	}
	return files, nil
}

// Close closes this end. A Receive under way returns an error.
func (c *Conn) Close() error { return c.conn.Close() }

// descriptors takes the descriptors out of control data. net sets them close-on-exec.
func descriptors(oob []byte) ([]*os.File, error) {
	parts, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("receive descriptors: %w", err)
	}
	var files []*os.File
	for _, p := range parts {
		fds, err := unix.ParseUnixRights(&p)
		if err != nil {
			continue // some other control message carries none
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), fmt.Sprintf("received:%d", fd)))
		}
	}
	return files, nil
}

// CloseAll closes every file of files that is not nil.
func CloseAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
