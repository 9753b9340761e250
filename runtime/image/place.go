package image

import (
	"archive/tar"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/image/vet"
)

const maxLinks = 40 // symbolic links followed for one name, as the kernel does

// placer finds out where a vetted name leads in the tree as unpacked so far, with
// links followed below the root only. What it returns holds no link, so that
// nothing later has one to follow. It is the only writer's companion: nobody else
// changes the tree.
type placer struct {
	root  string
	known map[string]string // directory as named → as resolved, "" is the root
}

func newPlacer(root string) *placer {
	return &placer{root: root, known: map[string]string{"": ""}}
}

// place rewrites hdr's name, and a hard link's target, to link-free paths.
func (p *placer) place(hdr *tar.Header, entry vet.Entry) error {
	if len(entry.Parts) == 0 {
		return nil
	}
	name, err := p.locate(hdr.Name)
	if err != nil {
		return err
	}
	if hdr.Typeflag == tar.TypeLink {
		if hdr.Linkname, err = p.target(hdr); err != nil {
			return err
		}
	}
	p.forget(name, hdr, entry)
	hdr.Name = name
	return nil
}

// locate resolves the parent of name and keeps the last component as it is.
func (p *placer) locate(name string) (string, error) {
	dir, base := filepath.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	real, ok := p.known[dir]
	if !ok {
		var err error
		if real, err = p.resolve(name, dir); err != nil {
			return "", err
		}
		p.known[dir] = real
	}
	return filepath.Join(real, base), nil
}

// target resolves a hard link's target, which must be there already.
func (p *placer) target(hdr *tar.Header) (string, error) {
	path, err := p.locate(hdr.Linkname)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(filepath.Join(p.root, path))
	if err != nil || info.IsDir() {
		return "", &vet.Refusal{Rule: vet.RuleLinkTarget, Name: hdr.Name, Detail: "the hard link's target is no file of the image so far"}
	}
	return path, nil
}

// step is one component still to be walked. One that a link's target brought in
// must exist.
type step struct {
	part string
	link bool
}

func steps(path string, link bool) []step {
	var out []step
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			out = append(out, step{part, link})
		}
	}
	return out
}

// resolve follows the directory dir of the entry name, link by link. Components
// that do not exist yet are fine unless a link led to them.
func (p *placer) resolve(name, dir string) (string, error) {
	bad := func(detail string) (string, error) {
		return "", &vet.Refusal{Rule: vet.RuleParent, Name: name, Detail: detail}
	}
	var at []string
	rest := steps(dir, false)
	for links := 0; len(rest) > 0; {
		next := rest[0]
		rest = rest[1:]
		if next.part == ".." { // only a link's target has these
			if len(at) == 0 {
				return bad("a link in its path leads above the root")
			}
			at = at[:len(at)-1]
			continue
		}
		path := filepath.Join(p.root, strings.Join(at, "/"), next.part)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !next.link:
		case errors.Is(err, fs.ErrNotExist):
			return bad("a link in its path leads nowhere")
		case err != nil:
			return bad("its path cannot be looked at: " + errnoText(err))
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return bad("its path has too many links")
			}
			target, err := os.Readlink(path)
			if err != nil {
				return bad("its path cannot be looked at: " + errnoText(err))
			}
			if strings.HasPrefix(target, "/") {
				at = nil
			}
			rest = append(steps(target, true), rest...)
			continue
		case !info.IsDir():
			return bad("a component of its path is no directory")
		}
		at = append(at, next.part)
	}
	return strings.Join(at, "/"), nil
}

// forget drops what is known about directories when the entry replaces or
// removes something that could be one of them or a link to one.
func (p *placer) forget(name string, hdr *tar.Header, entry vet.Entry) {
	if !entry.Whiteout {
		info, err := os.Lstat(filepath.Join(p.root, name))
		switch {
		case err != nil: // nothing there
			return
		case info.IsDir() && hdr.Typeflag == tar.TypeDir:
			return
		case !info.IsDir() && info.Mode()&fs.ModeSymlink == 0:
			return
		}
	}
	p.known = map[string]string{"": ""}
}

// errnoText returns the kernel's words without the path.
func errnoText(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return "unknown error"
}
