package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lazaret.dev/lazaret/internal/canon"
)

// ErrProtocol is the end of a channel whose other side broke the rules.
var ErrProtocol = errors.New("control protocol violated")

// WriteFrame writes v as one frame, with one call of Write.
func WriteFrame(w io.Writer, v any) error {
	body, err := canon.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return fmt.Errorf("write frame: %d bytes exceed the limit of %d", len(body), maxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// ReadFrame reads one frame into the record v points to. It returns io.EOF only
// between frames. Memory grows with what arrives, not with what is announced.
func ReadFrame(r io.Reader, v any) error {
	return readFrame(r, maxFrame, v)
}

func readFrame(r io.Reader, limit int, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("read frame length: %w", err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if int64(size) > int64(limit) {
		return fmt.Errorf("%w: frame of %d bytes exceeds %d", ErrProtocol, size, limit)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(size)); err != nil {
		return fmt.Errorf("read frame of %d bytes: %w", size, err)
	}
	if err := canon.Unmarshal(body.Bytes(), limit, v); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}
