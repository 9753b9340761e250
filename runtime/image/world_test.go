package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// item is one entry of a test archive.
type item struct {
	name, link string
	kind       byte
	mode       int64
	uid, gid   int
	body       string
	xattrs     map[string]string
	major      int64
}

func dir(name string) item       { return item{name: name, kind: tar.TypeDir, mode: 0o755} }
func reg(name, body string) item { return item{name: name, kind: tar.TypeReg, mode: 0o644, body: body} }
func sym(name, to string) item   { return item{name: name, kind: tar.TypeSymlink, mode: 0o777, link: to} }
func hard(name, to string) item  { return item{name: name, kind: tar.TypeLink, link: to} }
func owned(i item, id int) item  { i.uid, i.gid = id, id; return i }
func moded(i item, m int64) item { i.mode = m; return i }
func device(name string) item    { return item{name: name, kind: tar.TypeBlock, mode: 0o666, major: 8} }
func archived(items ...item) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, i := range items {
		h := &tar.Header{
			Name: i.name, Linkname: i.link, Typeflag: i.kind, Mode: i.mode, Uid: i.uid, Gid: i.gid,
			Size: int64(len(i.body)), ModTime: time.Unix(1_700_000_000, 0), Devmajor: i.major, Format: tar.FormatPAX,
		}
		for k, v := range i.xattrs {
			if h.PAXRecords == nil {
				h.PAXRecords = map[string]string{}
			}
			h.PAXRecords["SCHILY.xattr."+k] = v
		}
		if i.kind == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: i.kind, Name: i.name, PAXRecords: map[string]string{"comment": "c"}}
		}
		if err := w.WriteHeader(h); err != nil {
			panic(fmt.Sprintf("test archive: %v", err))
		}
		if _, err := w.Write([]byte(i.body)); err != nil {
			panic(fmt.Sprintf("test archive: %v", err))
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = w.Write(b)
	_ = w.Close()
	return buf.Bytes()
}

func zstded(b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(b, nil)
}

func digestOf(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// blob is one stored layer of a test image, with what the image says about it.
type blob struct {
	stored         []byte
	digest, diffID string
	size           int
}

func layerOf(plain []byte, store func([]byte) []byte) blob {
	stored := plain
	if store != nil {
		stored = store(plain)
	}
	return blob{stored: stored, digest: digestOf(stored), diffID: digestOf(plain), size: len(stored)}
}

func gz(items ...item) blob { return layerOf(archived(items...), gzipped) }

// testImage is what writeImage writes; the zero platform is ours.
type testImage struct {
	os, arch string
	tag      string
	layers   []blob
	env      []string
}

// writeImage writes an OCI layout with one image and returns its directory. The
// blobs are stored under the digests the image claims.
func writeImage(tb testing.TB, img testImage) string {
	tb.Helper()
	root := tb.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		tb.Fatal(err)
	}
	put(tb, root, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	desc := img.write(tb, root)
	put(tb, root, "index.json", encode(tb, object{"schemaVersion": 2, "manifests": []any{desc}}))
	return root
}

type object map[string]any

// write stores the image's blobs below root and returns its descriptor.
func (img testImage) write(tb testing.TB, root string) object {
	tb.Helper()
	var layers, diffIDs []any
	for _, l := range img.layers {
		put(tb, root, "blobs/sha256/"+l.digest[len("sha256:"):], l.stored)
		layers = append(layers, object{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": l.size, "digest": l.digest})
		diffIDs = append(diffIDs, l.diffID)
	}
	if img.os == "" {
		img.os, img.arch = "linux", "amd64"
	}
	config := encode(tb, object{
		"os": img.os, "architecture": img.arch,
		"config": object{"Env": img.env}, "rootfs": object{"type": "layers", "diff_ids": diffIDs},
	})
	put(tb, root, "blobs/sha256/"+digestOf(config)[7:], config)
	manifest := encode(tb, object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": layers,
		"config": object{"mediaType": "application/vnd.oci.image.config.v1+json", "size": len(config), "digest": digestOf(config)},
	})
	put(tb, root, "blobs/sha256/"+digestOf(manifest)[7:], manifest)
	return object{
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": len(manifest), "digest": digestOf(manifest),
		"platform":    object{"os": img.os, "architecture": img.arch},
		"annotations": object{"org.opencontainers.image.ref.name": img.tag},
	}
}

func encode(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func put(tb testing.TB, root, name string, b []byte) {
	tb.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		tb.Fatal(err)
	}
}
