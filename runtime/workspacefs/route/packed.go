package route

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
)

// maxPacked bounds the packed paths of one index, in bytes. More are not kept: none of
// them counts then.
const maxPacked = 24 << 20

// pack keeps paths, which are in order, in little room: each as the number of bytes it
// shares with the one before, the number of those that follow, and these.
func pack(paths []string) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil // the level is one
	}
	var head []byte
	last := ""
	for _, path := range paths {
		same := shared(last, path)
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(same)), uint64(len(path)-same))
		_, _ = w.Write(head) // to memory
		_, _ = io.WriteString(w, path[same:])
		last = path
	}
	_ = w.Close()
	return out.Bytes()
}

func shared(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

var errPacked = errors.New("damaged list of paths")

// unpack is the reverse. Errors: what was packed otherwise, or takes more than an index
// may.
func unpack(data []byte) (paths []string, err error) {
	in := bufio.NewReader(io.LimitReader(flate.NewReader(bytes.NewReader(data)), 2*gitindex.MaxPaths))
	last := []byte{}
	for total := 0; total <= gitindex.MaxPaths; total += len(last) {
		same, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return paths, nil
		}
		more, merr := binary.ReadUvarint(in)
		if err = errors.Join(err, merr); err != nil || same > uint64(len(last)) || more > gitindex.MaxPath {
			return nil, fmt.Errorf("%w: %w", errPacked, err)
		}
		last = append(last[:same], make([]byte, more)...)
		if _, err := io.ReadFull(in, last[same:]); err != nil {
			return nil, fmt.Errorf("%w: %w", errPacked, err)
		}
		if len(paths) > 0 && string(last) <= paths[len(paths)-1] {
			return nil, errPacked
		}
		paths = append(paths, string(last))
	}
	return nil, errPacked
}

// digestOf tells one set of paths from every other.
func digestOf(set *gitindex.Set) digest {
	h := sha256.New()
	for path := range set.All() {
		_, _ = io.WriteString(h, path)
		_, _ = h.Write([]byte{0})
	}
	return digest(h.Sum(nil))
}
