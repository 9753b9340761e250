package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/image/vet"
)

const maxArchiveMembers = 4096 // files in a docker-archive: layers, configurations, lists

// savedImage is one image in an archive's manifest.json.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// openArchive resolves an image of a docker-archive. Its layers are read where
// they lie in the file. There is no stable manifest, so the image is named by its
// configuration and diff ids.
func openArchive(file, tag string, limits vet.Limits) (*resolved, error) {
	members, err := listArchive(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{
			Kind: fault.Image, Message: fmt.Sprintf("there is no image archive %q", file), Err: err,
			Fix: "name a file written by docker save",
		}
	}
	if err != nil {
		return nil, err
	}
	a := archive{file: file, members: members, limits: limits}
	saved, err := a.choose(tag)
	if err != nil {
		return nil, err
	}
	return a.image(saved)
}

// member is where one file lies in the archive; link names another member instead.
type member struct {
	offset, size int64
	link         string
}

type archive struct {
	file    string
	members map[string]member
	limits  vet.Limits
}

// listArchive finds the members of an uncompressed tar archive without reading
// their content.
func listArchive(file string) (map[string]member, error) {
	f, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var magic [2]byte
	if n, _ := f.ReadAt(magic[:], 0); bytes.Equal(magic[:n], gzipMagic) {
		return nil, &fault.Error{
			Kind: fault.Image, Message: fmt.Sprintf("image archive %q is compressed as a whole", file),
			Fix: "decompress it with gunzip first; the layers in it may be compressed",
		}
	}
	members := map[string]member{}
	for r := tar.NewReader(f); ; {
		hdr, err := r.Next()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read image archive %q: %w", file, err)
		}
		if len(members) == maxArchiveMembers {
			return nil, fmt.Errorf("read image archive %q: it has more than %d members", file, maxArchiveMembers)
		}
		// The reader has read whole blocks up to here, so this is where the content
		// begins.
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, fmt.Errorf("read image archive %q: %w", file, err)
		}
		name := path.Clean(hdr.Name)
		switch hdr.Typeflag {
		case tar.TypeReg:
			members[name] = member{offset: at, size: hdr.Size}
		case tar.TypeSymlink: // older docker save links a layer shared by two images
			members[name] = member{link: path.Join(path.Dir(name), hdr.Linkname)}
		}
	}
}

func (a archive) member(name string) (member, error) {
	name = path.Clean(name)
	for range 4 {
		m, ok := a.members[name]
		if !ok {
			return member{}, fmt.Errorf("read image archive %q: it has no member %.200q", a.file, name)
		}
		if m.link == "" {
			return m, nil
		}
		name = m.link
	}
	return member{}, fmt.Errorf("read image archive %q: member %.200q is a chain of links", a.file, name)
}

func (a archive) read(name string, limit int64) ([]byte, error) {
	m, err := a.member(name)
	if err != nil {
		return nil, err
	}
	if m.size > limit {
		return nil, fmt.Errorf("read image archive %q: member %.200q of %d bytes exceeds the limit of %d", a.file, name, m.size, limit)
	}
	f, err := openRegular(a.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, m.size)
	if _, err := f.ReadAt(b, m.offset); err != nil && (m.size != 0 || !errors.Is(err, io.EOF)) {
		return nil, fmt.Errorf("read image archive %q: %w", a.file, err)
	}
	return b, nil
}

// choose returns the image with tag, or the only one.
func (a archive) choose(tag string) (savedImage, error) {
	b, err := a.read("manifest.json", a.limits.DocumentBytes)
	if err != nil {
		return savedImage{}, err
	}
	var all []savedImage
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&all); err != nil {
		return savedImage{}, fmt.Errorf("read image archive %q: manifest.json: %w", a.file, err)
	}
	var fit []savedImage
	var tags []string
	for _, s := range all {
		for _, t := range s.RepoTags {
			tags = append(tags, printable(t))
		}
		if tag == "" || slices.ContainsFunc(s.RepoTags, func(t string) bool { return t == tag || strings.HasSuffix(t, ":"+tag) }) {
			fit = append(fit, s)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0:
		return savedImage{}, chooseError(fmt.Sprintf("the archive has no image %q", tag), tags)
	default:
		return savedImage{}, chooseError(fmt.Sprintf("the archive has %d images that fit", len(fit)), tags)
	}
}

func (a archive) image(saved savedImage) (*resolved, error) {
	if len(saved.Layers) > a.limits.Layers {
		return nil, fmt.Errorf("read image archive %q: %d layers exceed the limit of %d", a.file, len(saved.Layers), a.limits.Layers)
	}
	b, err := a.read(saved.Config, a.limits.DocumentBytes)
	if err != nil {
		return nil, err
	}
	conf, diffIDs, err := parseConfig(b, len(saved.Layers))
	if err != nil {
		return nil, err
	}
	img := &resolved{config: fmt.Sprintf("sha256:%x", sha256.Sum256(b)), conf: conf}
	for i, name := range saved.Layers {
		m, err := a.member(name)
		if err != nil {
			return nil, err
		}
		if m.size > a.limits.CompressedBytes {
			return nil, fmt.Errorf("read image archive %q: layer %d of %d bytes exceeds the limit of %d", a.file, i+1, m.size, a.limits.CompressedBytes)
		}
		img.layers = append(img.layers, storedLayer{
			diffID: diffIDs[i], offset: m.offset, size: m.size,
			open: func() (*os.File, error) { return openRegular(a.file) },
		})
	}
	return img, nil
}
