package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lazaret.dev/lazaret/internal/canon"
)

// Errors of a frame. A connection that shows one is not used again.
var (
	ErrTooLong     = errors.New("frame is longer than the protocol allows")
	ErrEmptyFrame  = errors.New("frame has no kind byte")
	ErrUnknownKind = errors.New("frame is of an unknown kind")
)

const lengthBytes = 4

// Message is one record of the protocol. The set is closed: see kinds.
type Message interface {
	// Kind is the byte that names the message in a frame.
	Kind() Kind
}

// Encode returns m as one whole frame, ready to be written in one piece.
func Encode(m Message) ([]byte, error) {
	body, err := canon.Marshal(m)
	if err != nil {
		return nil, err
	}
	n := 1 + len(body)
	if n > MaxFrame {
		return nil, fmt.Errorf("encode %T of %d bytes: %w", m, n, ErrTooLong)
	}
	frame := make([]byte, lengthBytes, lengthBytes+n)
	binary.BigEndian.PutUint32(frame, uint32(n))
	frame = append(frame, byte(m.Kind()))
	return append(frame, body...), nil
}

// Decode reads what follows a frame's length: the kind byte and the record.
func Decode(frame []byte) (Message, error) {
	if len(frame) == 0 {
		return nil, ErrEmptyFrame
	}
	if len(frame) > MaxFrame {
		return nil, ErrTooLong
	}
	decode, ok := kinds[Kind(frame[0])]
	if !ok {
		return nil, fmt.Errorf("kind %d: %w", frame[0], ErrUnknownKind)
	}
	return decode(frame[1:])
}

// Read reads one message. A length above MaxFrame is refused before anything of
// that size is allocated. It returns io.EOF only between frames.
func Read(r io.Reader) (Message, error) {
	var head [lengthBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxFrame {
		return nil, fmt.Errorf("frame of %d bytes: %w", n, ErrTooLong)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(r, frame); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read frame of %d bytes: %w", n, err)
	}
	return Decode(frame)
}

// Write writes m as one frame with one call of w.Write.
func Write(w io.Writer, m Message) error {
	frame, err := Encode(m)
	if err != nil {
		return err
	}
	if _, err := w.Write(frame); err != nil {
		return fmt.Errorf("send %T: %w", m, err)
	}
	return nil
}
