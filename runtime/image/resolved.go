package image

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"lazaret.dev/lazaret/runtime/image/vet"
)

// resolved is an image whose manifest and configuration are read and verified
// and whose layers can be opened as files.
type resolved struct {
	index    string // digest of the index it was chosen from, may be empty
	manifest string // digest, empty for archives
	config   string // digest
	conf     v1.ConfigFile
	layers   []storedLayer
}

// storedLayer is a layer as it lies in a file: size bytes at offset.
type storedLayer struct {
	digest string // of the stored bytes, empty for archives
	diffID string
	offset int64
	size   int64
	open   func() (*os.File, error)
}

func (r *resolved) diffIDs() []string {
	ids := make([]string, len(r.layers))
	for i, l := range r.layers {
		ids[i] = l.diffID
	}
	return ids
}

func (r *resolved) digests() []string {
	var ds []string
	for _, l := range r.layers {
		if l.digest != "" {
			ds = append(ds, l.digest)
		}
	}
	return ds
}

func (r *resolved) size() (n int64) {
	for _, l := range r.layers {
		n += l.size
	}
	return n
}

// verifyDigest holds b to the digest it was named by.
func verifyDigest(what string, b []byte, want v1.Hash) error {
	got := v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(b))}
	if got != want {
		return fmt.Errorf("%s has digest %s, not %s", what, got, want)
	}
	return nil
}

// parseManifest reads a manifest's bytes and holds its numbers to the limits.
func parseManifest(b []byte, limits vet.Limits) (*v1.Manifest, error) {
	m, err := v1.ParseManifest(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	switch {
	case !m.Config.MediaType.IsConfig():
		return nil, fmt.Errorf("read manifest: its configuration has type %q, so it is no image", string(m.Config.MediaType))
	case m.Config.Size < 0 || m.Config.Size > limits.DocumentBytes:
		return nil, fmt.Errorf("read manifest: a configuration of %d bytes is outside 0 to %d", m.Config.Size, limits.DocumentBytes)
	case len(m.Layers) > limits.Layers:
		return nil, fmt.Errorf("read manifest: %d layers exceed the limit of %d", len(m.Layers), limits.Layers)
	case m.Config.Digest.Algorithm != "sha256":
		return nil, fmt.Errorf("read manifest: the configuration has a digest of kind %q", m.Config.Digest.Algorithm)
	}
	for i, l := range m.Layers {
		switch {
		case l.Digest.Algorithm != "sha256":
			return nil, fmt.Errorf("read manifest: layer %d has a digest of kind %q", i+1, l.Digest.Algorithm)
		case l.Size < 0 || l.Size > limits.CompressedBytes:
			return nil, fmt.Errorf("read manifest: layer %d of %d bytes is outside 0 to %d", i+1, l.Size, limits.CompressedBytes)
		case len(l.URLs) > 0:
			return nil, fmt.Errorf("read manifest: layer %d is kept elsewhere than the image", i+1)
		case !l.MediaType.IsLayer():
			return nil, fmt.Errorf("read manifest: layer %d has the unknown type %q", i+1, string(l.MediaType))
		}
	}
	return m, nil
}

// parseConfig reads an image configuration for count layers and returns it with
// their diff ids.
func parseConfig(b []byte, count int) (v1.ConfigFile, []string, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(b))
	if err != nil {
		return v1.ConfigFile{}, nil, fmt.Errorf("read image configuration: %w", err)
	}
	if len(c.RootFS.DiffIDs) != count {
		return v1.ConfigFile{}, nil, fmt.Errorf("read image configuration: it names %d layers, the manifest %d", len(c.RootFS.DiffIDs), count)
	}
	if count == 0 {
		return v1.ConfigFile{}, nil, fmt.Errorf("read image configuration: the image has no layers")
	}
	if !platformFits(&v1.Platform{OS: c.OS, Architecture: c.Architecture}) {
		return v1.ConfigFile{}, nil, fmt.Errorf("the image is for %.40q, this host runs %q", c.OS+"/"+c.Architecture, platformName)
	}
	ids := make([]string, count)
	for i, id := range c.RootFS.DiffIDs {
		if id.Algorithm != "sha256" {
			return v1.ConfigFile{}, nil, fmt.Errorf("read image configuration: layer %d has a digest of kind %q", i+1, id.Algorithm)
		}
		ids[i] = id.String()
	}
	return *c, ids, nil
}
