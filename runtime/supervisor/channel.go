package supervisor

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

// channel is one end of the packet socket between HC and RS. One goroutine
// receives; sends may overlap.
type channel struct {
	conn *net.UnixConn
	mu   sync.Mutex // one send at a time
}

// newChannelPair returns both ends as files; each becomes a channel by openChannel.
func newChannelPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the supervisor's socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "coordinator"), nil
}

// openChannel takes over f.
func openChannel(f *os.File) (*channel, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open the supervisor's socket: %w", err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("open the supervisor's socket: not a Unix socket")
	}
	return &channel{conn: conn}, nil
}

// send sends m with files, which stay the caller's.
func (c *channel) send(m message, files ...*os.File) error {
	b, err := canon.Marshal(m)
	if err != nil {
		return err
	}
	if len(b) > maxMessage || len(files) > maxDescriptors {
		return fmt.Errorf("send message %d: %d bytes and %d descriptors are too much", m.Kind, len(b), len(files))
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
		return fmt.Errorf("send message %d: %w", m.Kind, err)
	}
	return nil
}

// receive returns the next message and its descriptors, which become the caller's.
// It returns io.EOF when the other end is gone.
func (c *channel) receive() (m message, files []*os.File, err error) {
	b := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(maxDescriptors*4))
	n, oobn, flags, _, err := c.conn.ReadMsgUnix(b, oob)
	if errors.Is(err, unix.ECONNRESET) {
		// The other end died with a message of ours unread. Linux says so once,
		// before what it had sent us, and that is where it told why it died.
		n, oobn, flags, _, err = c.conn.ReadMsgUnix(b, oob)
	}
	if err != nil {
		return m, nil, fmt.Errorf("receive a message: %w", err)
	}
	if n == 0 {
		return m, nil, io.EOF
	}
	if files, err = descriptors(oob[:oobn]); err != nil {
		return m, nil, err
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		closeAll(files)
		return m, nil, errors.New("receive a message: it was cut short")
	}
	if err := canon.Unmarshal(b[:n], maxMessage, &m); err != nil {
		closeAll(files)
		return m, nil, fmt.Errorf("receive a message: %w", err)
	}
	return m, files, nil
}

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

func (c *channel) close() { _ = c.conn.Close() }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// sealed returns an anonymous file with data that nobody can change any more, at
// its beginning.
func sealed(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make anonymous file %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("write anonymous file %q: %w", name, err)
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal anonymous file %q: %w", name, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("rewind anonymous file %q: %w", name, err)
	}
	return f, nil
}

// unseal reads a sealed file whole.
func unseal(f *os.File, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read anonymous file: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read anonymous file: longer than %d bytes", limit)
	}
	return data, nil
}
