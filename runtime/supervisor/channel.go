package supervisor

import (
	"fmt"
	"os"

	"lazaret.dev/lazaret/internal/packet"
)

// channel is one end of the packet socket between HC and RS. One goroutine
// receives; sends may overlap.
type channel struct{ conn *packet.Conn }

// newChannelPair returns both ends as files; each becomes a channel by openChannel.
func newChannelPair() (ours, theirs *os.File, err error) {
	return packet.Pair("supervisor", "coordinator")
}

// openChannel takes over f.
func openChannel(f *os.File) (*channel, error) {
	conn, err := packet.Open(f)
	if err != nil {
		return nil, err
	}
	return &channel{conn: conn}, nil
}

// send sends m with files, which stay the caller's.
func (c *channel) send(m message, files ...*os.File) error {
	if err := c.conn.Send(m, files...); err != nil {
		return fmt.Errorf("message %d: %w", m.Kind, err)
	}
	return nil
}

// receive returns the next message and its descriptors, which become the caller's.
// It returns io.EOF when the other end is gone.
func (c *channel) receive() (m message, files []*os.File, err error) {
	files, err = c.conn.Receive(&m)
	return m, files, err
}

func (c *channel) close() { _ = c.conn.Close() }

func closeAll(files []*os.File) { packet.CloseAll(files) }

func sealed(name string, data []byte) (*os.File, error) { return packet.Seal(name, data) }

func unseal(f *os.File, limit int64) ([]byte, error) { return packet.Unseal(f, limit) }
