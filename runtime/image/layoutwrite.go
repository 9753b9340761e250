package image

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

const refNameAnnotation = "org.opencontainers.image.ref.name"

// LayoutSpec says what goes into a one-layer image besides its files.
type LayoutSpec struct {
	Tag     string
	Created time.Time
	Env     []string
	Labels  map[string]string

	late func() // called when the layer is written and before Labels are
}

// WriteLayout writes the tar stream files as a one-layer OCI image layout in dir,
// which it creates and which must be empty. The layer is stored with zstd; the
// same stream and spec give the same bytes. On error dir is left for the caller
// to remove.
func WriteLayout(dir string, spec LayoutSpec, files io.Reader) (manifest v1.Hash, err error) {
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return v1.Hash{}, fmt.Errorf("make image layout: %w", err)
	}
	layer, diffID, err := writeLayer(blobs, files)
	if err != nil {
		return v1.Hash{}, err
	}
	if spec.late != nil {
		spec.late()
	}
	platform := v1.Platform{OS: platformOS, Architecture: platformArch}
	config, err := writeJSON(blobs, types.OCIConfigJSON, v1.ConfigFile{
		Architecture: platformArch,
		OS:           platformOS,
		Created:      v1.Time{Time: spec.Created.UTC()},
		RootFS:       v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID}},
		Config:       v1.Config{Env: spec.Env, Labels: spec.Labels, Cmd: []string{"/bin/bash"}},
		History:      []v1.History{{Created: v1.Time{Time: spec.Created.UTC()}, CreatedBy: "lazaret image build"}},
	})
	if err != nil {
		return v1.Hash{}, err
	}
	desc, err := writeJSON(blobs, types.OCIManifestSchema1, v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		Config:        config,
		Layers:        []v1.Descriptor{layer},
	})
	if err != nil {
		return v1.Hash{}, err
	}
	desc.Platform = &platform
	desc.Annotations = map[string]string{refNameAnnotation: spec.Tag}
	return desc.Digest, writeIndex(dir, desc)
}

func writeIndex(dir string, manifest v1.Descriptor) error {
	index, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests:     []v1.Descriptor{manifest},
	})
	if err != nil {
		return fmt.Errorf("encode image index: %w", err)
	}
	if err := writeFileSync(filepath.Join(dir, "index.json"), index, 0o644); err != nil {
		return err
	}
	return writeFileSync(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

// writeLayer compresses files into a blob and returns its descriptor and the
// digest of what was read.
func writeLayer(blobs string, files io.Reader) (v1.Descriptor, v1.Hash, error) {
	f, err := os.CreateTemp(blobs, ".layer-*")
	if err != nil {
		return v1.Descriptor{}, v1.Hash{}, fmt.Errorf("write layer: %w", err)
	}
	defer f.Close()
	plain, packed := sha256.New(), sha256.New()
	size := &countingWriter{w: io.MultiWriter(f, packed)}
	z, err := zstd.NewWriter(size, zstd.WithEncoderConcurrency(2))
	if err != nil {
		return v1.Descriptor{}, v1.Hash{}, fmt.Errorf("write layer: %w", err)
	}
	if _, err := io.Copy(io.MultiWriter(z, plain), files); err != nil {
		return v1.Descriptor{}, v1.Hash{}, fmt.Errorf("write layer: %w", err)
	}
	if err := z.Close(); err != nil {
		return v1.Descriptor{}, v1.Hash{}, fmt.Errorf("write layer: %w", err)
	}
	desc := v1.Descriptor{MediaType: types.OCILayerZStd, Size: size.n, Digest: hashOf(packed)}
	if err := commitFile(f, filepath.Join(blobs, desc.Digest.Hex), 0o644); err != nil {
		return v1.Descriptor{}, v1.Hash{}, err
	}
	return desc, hashOf(plain), nil
}

func writeJSON(blobs string, kind types.MediaType, v any) (v1.Descriptor, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	h := sha256.New()
	h.Write(b)
	desc := v1.Descriptor{MediaType: kind, Size: int64(len(b)), Digest: hashOf(h)}
	return desc, writeFileSync(filepath.Join(blobs, desc.Digest.Hex), b, 0o644)
}

func hashOf(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", h.Sum(nil))}
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
