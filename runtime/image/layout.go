package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/image/vet"
)

const maxIndexNesting = 3

// openLayout resolves an image of an OCI image layout. Nothing in a layout is
// trusted to be what it is named: each blob is hashed where it is read.
func openLayout(dir, tag string, limits vet.Limits) (*resolved, error) {
	b, err := readBounded(filepath.Join(dir, "index.json"), limits.DocumentBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{
			Kind: fault.Image, Message: fmt.Sprintf("there is no OCI image layout in %q", dir), Err: err,
			Fix: "name the directory that holds index.json",
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open image layout %q: %w", dir, err)
	}
	l := layout{dir: dir, limits: limits}
	desc, index, err := l.choose(b, tag)
	if err != nil {
		return nil, err
	}
	return l.image(desc, index)
}

type layout struct {
	dir    string
	limits vet.Limits
}

// choose finds the one manifest meant by tag in an index, descending into nested
// indexes by platform. It returns the digest of the last index it went through
// other than the layout's own.
func (l layout) choose(b []byte, tag string) (v1.Descriptor, string, error) {
	digest := ""
	for range maxIndexNesting {
		index, err := v1.ParseIndexManifest(bytes.NewReader(b))
		if err != nil {
			return v1.Descriptor{}, "", fmt.Errorf("read image index: %w", err)
		}
		desc, err := pick(index.Manifests, tag)
		if err != nil {
			return v1.Descriptor{}, "", err
		}
		if !desc.MediaType.IsIndex() {
			return desc, digest, nil
		}
		if b, err = l.blob("image index", desc, l.limits.DocumentBytes); err != nil {
			return v1.Descriptor{}, "", err
		}
		digest, tag = desc.Digest.String(), ""
	}
	return v1.Descriptor{}, "", fmt.Errorf("image indexes are nested more than %d deep", maxIndexNesting)
}

// pick returns the one descriptor that has tag, if any is asked for, and is for
// this platform.
func pick(all []v1.Descriptor, tag string) (v1.Descriptor, error) {
	var fit []v1.Descriptor
	var tags []string
	for _, d := range all {
		if name := d.Annotations[refNameAnnotation]; name != "" {
			tags = append(tags, printable(name))
		}
		if (tag == "" || hasTag(d, tag)) && platformFits(d.Platform) && (d.MediaType.IsImage() || d.MediaType.IsIndex()) {
			fit = append(fit, d)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0 && tag != "":
		return v1.Descriptor{}, chooseError(fmt.Sprintf("no image for %s has the tag %q", platformName, tag), tags)
	case len(fit) == 0:
		return v1.Descriptor{}, chooseError(fmt.Sprintf("there is no image for %s", platformName), tags)
	default:
		return v1.Descriptor{}, chooseError(fmt.Sprintf("there are %d images for %s", len(fit), platformName), tags)
	}
}

// hasTag accepts a whole reference too, since some tools write those.
func hasTag(d v1.Descriptor, tag string) bool {
	name := d.Annotations[refNameAnnotation]
	return name == tag || strings.HasSuffix(name, ":"+tag)
}

func chooseError(message string, tags []string) error {
	fix := "give another image"
	if len(tags) > 0 {
		fix = "append one of these tags to the source: " + strings.Join(tags[:min(len(tags), 20)], ", ")
	}
	return &fault.Error{Kind: fault.Image, Message: message, Fix: fix}
}

func (l layout) path(h v1.Hash) string {
	return filepath.Join(l.dir, "blobs", h.Algorithm, h.Hex)
}

// blob reads a small blob and verifies its size and digest.
func (l layout) blob(what string, desc v1.Descriptor, limit int64) ([]byte, error) {
	if desc.Digest.Algorithm != "sha256" {
		return nil, fmt.Errorf("%s has a digest of kind %.20q", what, desc.Digest.Algorithm)
	}
	if desc.Size < 0 || desc.Size > limit {
		return nil, fmt.Errorf("%s of %d bytes is outside 0 to %d", what, desc.Size, limit)
	}
	b, err := readBounded(l.path(desc.Digest), limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if int64(len(b)) != desc.Size {
		return nil, fmt.Errorf("%s has %d bytes, not %d", what, len(b), desc.Size)
	}
	return b, verifyDigest(what, b, desc.Digest)
}

// image reads the manifest and configuration desc names.
func (l layout) image(desc v1.Descriptor, index string) (*resolved, error) {
	b, err := l.blob("manifest", desc, l.limits.DocumentBytes)
	if err != nil {
		return nil, err
	}
	manifest, err := parseManifest(b, l.limits)
	if err != nil {
		return nil, err
	}
	if b, err = l.blob("image configuration", manifest.Config, l.limits.DocumentBytes); err != nil {
		return nil, err
	}
	return assemble(manifest, desc.Digest, b, index, l.path)
}

// assemble puts an image together whose layers lie in files named by digest.
func assemble(m *v1.Manifest, digest v1.Hash, config []byte, index string, path func(v1.Hash) string) (*resolved, error) {
	conf, diffIDs, err := parseConfig(config, len(m.Layers))
	if err != nil {
		return nil, err
	}
	img := &resolved{index: index, manifest: digest.String(), config: m.Config.Digest.String(), conf: conf}
	for i, l := range m.Layers {
		img.layers = append(img.layers, storedLayer{
			digest: l.Digest.String(), diffID: diffIDs[i], size: l.Size,
			open: func() (*os.File, error) { return openSized(path(l.Digest), l.Size) },
		})
	}
	return img, nil
}

// openSized opens a file that must have exactly size bytes.
func openSized(path string, size int64) (*os.File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("open %q: it has %d bytes, not %d as its descriptor says", path, info.Size(), size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
