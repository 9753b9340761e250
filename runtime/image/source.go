package image

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"lazaret.dev/lazaret/internal/fault"
)

// Source says where an image comes from, as a person writes it:
//
//	builtin                      Lazaret's own recipe
//	oci:DIR[:TAG]                an OCI image layout
//	docker-archive:FILE[:TAG]    what `docker save` writes
//	HOST/NAME:TAG, HOST/NAME@sha256:…   a registry reference, written out in full
type Source string

// Builtin is the source built by Lazaret's own recipe.
const Builtin Source = "builtin"

const (
	layoutPrefix  = "oci:"
	archivePrefix = "docker-archive:"
)

type kind string

const (
	kindBuiltin  kind = "builtin"
	kindLayout   kind = "oci"
	kindArchive  kind = "docker-archive"
	kindRegistry kind = "registry"
)

// parsed is a Source taken apart. Its text is canonical: the same image is found
// again from any directory.
type parsed struct {
	kind kind
	path string // absolute, of a layout or an archive
	tag  string // may be empty
	ref  name.Reference
	text string
}

// parse takes a source apart. Relative paths count from the working directory.
func (s Source) parse() (parsed, error) {
	switch text := string(s); {
	case text == "":
		return parsed{}, s.refuse("the image source is empty", nil)
	case s == Builtin:
		return parsed{kind: kindBuiltin, text: text}, nil
	case strings.HasPrefix(text, layoutPrefix):
		return s.parsePath(kindLayout, text[len(layoutPrefix):])
	case strings.HasPrefix(text, archivePrefix):
		return s.parsePath(kindArchive, text[len(archivePrefix):])
	case strings.Contains(text, "://"):
		return parsed{}, s.refuse(fmt.Sprintf("image %q is a URL", text), nil)
	default:
		ref, err := name.ParseReference(text, name.StrictValidation)
		if err != nil {
			return parsed{}, s.refuse(fmt.Sprintf("image %q is not a complete reference", text), err)
		}
		return parsed{kind: kindRegistry, ref: ref, text: text}, nil
	}
}

// parsePath splits a path from its tag. An archive's tags have colons themselves,
// so there the first one counts; a layout's have none, so there the last does.
func (s Source) parsePath(k kind, rest string) (parsed, error) {
	at := strings.LastIndexByte(rest, ':')
	if k == kindArchive {
		at = strings.IndexByte(rest, ':')
	} else if at >= 0 && strings.Contains(rest[at:], "/") {
		at = -1
	}
	path, tag := rest, ""
	if at >= 0 {
		path, tag = rest[:at], rest[at+1:]
	}
	if path == "" || (at >= 0 && tag == "") || strings.IndexByte(rest, 0) >= 0 {
		return parsed{}, s.refuse(fmt.Sprintf("image %q names no path, or an empty tag", string(s)), nil)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return parsed{}, fmt.Errorf("resolve image path %q: %w", path, err)
	}
	text := string(k) + ":" + abs
	if tag != "" {
		text += ":" + tag
	}
	return parsed{kind: k, path: abs, tag: tag, text: text}, nil
}

func (s Source) refuse(message string, err error) error {
	return &fault.Error{
		Kind: fault.Image, Message: message, Err: err,
		Fix: "write one of\n  builtin\n  oci:DIR[:TAG]\n  docker-archive:FILE[:TAG]\n" +
			"  registry.example/name:tag, with the registry and the tag or digest written out",
	}
}
