package image

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"

	"lazaret.dev/lazaret/runtime/image/vet"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

const maxWindow = 128 << 20 // what zstd --long writes

// layerStream reads the archive in one stored layer: it decompresses by content,
// keeps both digests, and holds the stream to the limits while it is read.
type layerStream struct {
	limits vet.Limits
	stored *meter // bytes as stored
	plain  io.Reader
	close  func()
	sum    hash.Hash
	n      int64  // plain bytes of this layer
	image  *int64 // plain bytes of all layers
}

// meter counts and hashes what is read through it.
type meter struct {
	r   io.Reader
	sum hash.Hash
	n   atomic.Int64 // read while a decompressor reads ahead
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n.Add(int64(n))
	m.sum.Write(p[:n])
	return n, err
}

// openLayer begins reading a stored layer. image counts the plain bytes of all
// layers of the image.
func openLayer(r io.Reader, limits vet.Limits, image *int64) (*layerStream, error) {
	s := &layerStream{limits: limits, sum: sha256.New(), image: image, close: func() {}}
	s.stored = &meter{r: r, sum: sha256.New()}
	buffered := bufio.NewReaderSize(s.stored, 256<<10)
	head, err := buffered.Peek(len(zstdMagic))
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read layer: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := pgzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("read gzip layer: %w", err)
		}
		s.plain, s.close = z, func() { _ = z.Close() }
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(limits.DecoderMemory), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, fmt.Errorf("read zstd layer: %w", err)
		}
		s.plain, s.close = z, z.Close
	default:
		s.plain = buffered
	}
	return s, nil
}

// Read returns plain bytes.
func (s *layerStream) Read(p []byte) (int, error) {
	n, err := s.plain.Read(p)
	s.n += int64(n)
	*s.image += int64(n)
	s.sum.Write(p[:n])
	if refusal := s.over(); refusal != nil {
		return n, refusal
	}
	return n, err
}

func (s *layerStream) over() error {
	switch l := s.limits; {
	case s.n > l.LayerBytes:
		return &vet.Refusal{Rule: vet.RuleImageSize, Detail: fmt.Sprintf("the layer unpacks to more than %d bytes", l.LayerBytes)}
	case s.n > l.ExpansionFree && s.n/max(s.stored.n.Load(), 1) > l.ExpansionRatio:
		return &vet.Refusal{Rule: vet.RuleExpansion, Detail: fmt.Sprintf("the layer unpacks to more than %d times its size", l.ExpansionRatio)}
	case *s.image > l.ImageBytes:
		return &vet.Refusal{Rule: vet.RuleImageSize, Detail: fmt.Sprintf("the image unpacks to more than %d bytes", l.ImageBytes)}
	}
	return nil
}

// finish reads what follows the archive's end: zero padding within the limit,
// and then nothing, neither plain nor stored. Only then are the digests those of
// the whole layer.
func (s *layerStream) finish() error {
	buf := make([]byte, 32<<10)
	var padding int64
	for {
		n, err := s.Read(buf)
		padding += int64(n)
		if padding > s.limits.TrailingZeros || len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return &vet.Refusal{Rule: vet.RuleTrailing, Detail: "data other than padding follows the archive's end"}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	s.close()
	if n, err := io.Copy(io.Discard, s.stored); err != nil {
		return fmt.Errorf("read layer: %w", err)
	} else if n > 0 {
		return &vet.Refusal{Rule: vet.RuleTrailing, Detail: "stored data follows the layer's end"}
	}
	return nil
}
