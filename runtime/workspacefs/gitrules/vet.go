package gitrules

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
)

// ErrUnsafe says that bytes would make the host's git write or read where it should
// not.
var ErrUnsafe = errors.New("unsafe for git on the host")

// Vet checks what is about to become the vetted file name of a directory of a place.
// The reason is git itself: it does not check paths again when it reads an index, so
// "git checkout ." writes an entry ".git/hooks/pre-commit" or "../x" as it stands
// (tried with 2.39); and it creates the file a symbolic reference names.
// size is that of the repository's object ids: read with another, an index says other
// things, and git does not mind its checksum.
// Errors: ErrUnsafe.
func Vet(in Place, name string, content []byte, size int) error {
	if (in == Main || in == Linked) && name == "index" {
		return vetIndex(content, size)
	}
	return vetRef(content)
}

func vetIndex(content []byte, size int) error {
	set, err := gitindex.Tracked(content, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	for path := range set.All() {
		if err := vetPath(path); err != nil {
			return err
		}
	}
	for name, why := range extensions {
		if hasExtension(content[:len(content)-size], name) {
			return fmt.Errorf("%w: index with %s", ErrUnsafe, why)
		}
	}
	return nil
}

// extensions are those that git trusts.
var extensions = map[string]string{
	"UNTR": "an untracked cache, whose paths git trusts (core.untrackedCache)",
	"IEOT": "a table of where entries are, which git reads instead of those looked at (index.recordOffsetTable)",
}

func vetPath(path string) error {
	for part := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if part == Git || Alias(part) || strings.ContainsRune(part, '\\') && aliasAfterBackslash(part) {
			return fmt.Errorf("%w: index with the path %q", ErrUnsafe, path)
		}
	}
	return nil
}

func aliasAfterBackslash(part string) bool {
	for piece := range strings.SplitSeq(part, `\`) {
		if piece == Git || piece == ".." || Alias(piece) {
			return true
		}
	}
	return false
}

// hasExtension reports whether the extensions at the end of an index include name.
// Their beginning is not known here, so it tries every place where name stands: a
// real extension is followed by whole ones up to the end.
func hasExtension(body []byte, name string) bool {
	for from := 0; ; {
		i := bytes.Index(body[from:], []byte(name))
		if i < 0 {
			return false
		}
		if wholeExtensions(body[from+i:]) {
			return true
		}
		from += i + 1
	}
}

func wholeExtensions(rest []byte) bool {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return false
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) {
			return false
		}
		rest = rest[8+size:]
	}
	return true
}

// maxRef bounds a reference, in bytes.
const maxRef = 64 << 10

// vetRef accepts an object id, and a symbolic reference into refs/.
func vetRef(content []byte) error {
	if len(content) > maxRef {
		return fmt.Errorf("%w: reference of %d bytes", ErrUnsafe, len(content))
	}
	target, symbolic := bytes.CutPrefix(content, []byte("ref:"))
	if !symbolic {
		return nil
	}
	name := string(bytes.TrimSpace(target))
	if !strings.HasPrefix(name, "refs/") || strings.Contains(name, "..") || strings.Contains(name, "//") || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%w: reference to %.100q", ErrUnsafe, name)
	}
	return nil
}
