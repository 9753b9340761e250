package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/sys/unix"
)

// maxFileBytes bounds a configuration file; a hand-written one is a few KiB.
const maxFileBytes = 256 << 10

// source is one configuration file: its values as TOML has them, and the line
// each key stands on.
type source struct {
	layer  Layer
	path   string
	sha256 string // of the bytes the values were parsed from
	values map[string]any
	lines  map[string]int // by joined path
}

// join makes one map key of a path; 0x1f cannot stand in a name the table of
// keys accepts, so it is also viper's delimiter.
const delimiter = "\x1f"

func join(path []string) string { return strings.Join(path, delimiter) }

func element(i int) string { return "#" + strconv.Itoa(i) }

// line returns the line of the longest part of path that has one.
func (s *source) line(path ...string) int {
	for n := len(path); n > 0; n-- {
		if l, ok := s.lines[join(path[:n])]; ok {
			return l
		}
	}
	return 0
}

// readSource opens path once, reads it once, and parses exactly those bytes. A
// missing file is (nil, nil).
func readSource(layer Layer, path string) (*source, error) {
	data, err := readRegular(layer, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Problems{{File: path, Message: err.Error(), Hint: "a configuration is one regular, readable file"}}
	}
	return parseSource(layer, path, data)
}

// readRegular refuses what is not a regular file before it reads, so a FIFO left
// in a workspace cannot hang us, and links in a workspace, because the file that
// is hidden from the sandbox must be the file that is read.
func readRegular(layer Layer, path string) ([]byte, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK
	if layer == LayerWorkspace {
		flags |= unix.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, errors.New("is a symbolic link")
	}
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) && !errors.Is(err, os.ErrNotExist) {
			return nil, pe.Err
		}
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is not a regular file (%s)", info.Mode().Type())
	}
	if layer == LayerUser && info.Mode().Perm()&0o002 != 0 {
		return nil, errors.New("may be written by every user of this host; run chmod o-w on it")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("is larger than %d KiB", maxFileBytes>>10)
	}
	return data, err
}

// parseSource parses data. TOML's own rules (syntax, a key given twice) are
// checked by the decoder; the syntax tree is walked again only for the lines.
func parseSource(layer Layer, path string, data []byte) (*source, error) {
	sum := sha256.Sum256(data)
	s := &source{layer: layer, path: path, sha256: hex.EncodeToString(sum[:]), lines: map[string]int{}}
	if err := toml.Unmarshal(data, &s.values); err != nil {
		p := Problem{File: path, Message: printable(strings.TrimPrefix(err.Error(), "toml: ")), Hint: "see https://toml.io for the notation"}
		var d *toml.DecodeError
		if errors.As(err, &d) {
			p.Line, _ = d.Position()
		}
		return nil, Problems{p}
	}
	walkLines(data, s.lines)
	return s, nil
}

// liner records the line of every key, table and array element of a document.
type liner struct {
	data   []byte
	parser unstable.Parser
	lines  map[string]int
	counts map[string]int // elements seen of each array of tables
}

func walkLines(data []byte, lines map[string]int) {
	l := &liner{data: data, lines: lines, counts: map[string]int{}}
	l.parser.Reset(data)
	var table []string
	for l.parser.NextExpression() {
		e := l.parser.Expression()
		switch e.Kind {
		case unstable.Table:
			table = l.key(nil, e.Key())
		case unstable.ArrayTable:
			table = l.key(nil, e.Key())
			n := l.counts[join(table)]
			l.counts[join(table)] = n + 1
			l.mark(append(table, element(n)), e.Child().Raw)
			table = append(table, element(n))
		case unstable.KeyValue:
			l.value(l.key(table, e.Key()), e.Value())
		}
	}
}

// key appends the parts of a dotted key to prefix, marking each, and steps into
// the last element of an array of tables on the way.
func (l *liner) key(prefix []string, it unstable.Iterator) []string {
	path := append([]string(nil), prefix...)
	for it.Next() {
		if n := l.counts[join(path)]; n > 0 {
			path = append(path, element(n-1))
		}
		path = append(path, string(it.Node().Data))
		l.mark(path, it.Node().Raw)
	}
	return path
}

func (l *liner) value(path []string, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			l.value(l.key(path, it.Node().Key()), it.Node().Value())
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			at := append(append([]string(nil), path...), element(i))
			l.mark(at, it.Node().Raw)
			l.value(at, it.Node())
		}
	}
}

// mark keeps the first line a path was seen on.
func (l *liner) mark(path []string, raw unstable.Range) {
	k := join(path)
	if _, seen := l.lines[k]; seen || raw.Length == 0 {
		return
	}
	l.lines[k] = 1 + bytes.Count(l.data[:raw.Offset], []byte{'\n'})
}
