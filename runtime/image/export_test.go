package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// LooseWorkerMode is a worker whose protections a test may turn off one by one.
const LooseWorkerMode = "__image-worker-loose"

// LooseWorkerMain runs a worker that honours every test switch.
func LooseWorkerMain() int {
	return workerMain(testSwitch{NoVet: true, NoChroot: true, NoLandlock: true})
}

// Loosen returns o with protections off, for a loose worker.
func Loosen(o Options, noVet, noChroot, noLandlock bool) Options {
	o.mode = LooseWorkerMode
	o.test = testSwitch{NoVet: noVet, NoChroot: noChroot, NoLandlock: noLandlock}
	return o
}

// WithSwitches returns o with the switches set but the ordinary worker.
func WithSwitches(o Options) Options {
	o.test = testSwitch{NoVet: true, NoChroot: true, NoLandlock: true}
	return o
}

// Small pure parts.
var (
	ParseStatus  = parseStatus
	Printable    = printable
	ReadAuthFile = readAuthFile
)

// Canonical returns a source's canonical text.
func Canonical(s Source) (string, error) {
	p, err := s.parse()
	return p.text, err
}

// Kind returns what a source is taken for.
func Kind(s Source) (string, error) {
	p, err := s.parse()
	return fmt.Sprint(p.kind), err
}

// Resolve resolves a source without preparing it.
func Resolve(ctx context.Context, o Options) (manifest, config string, diffIDs []string, err error) {
	o = o.withDefaults()
	src, err := o.Source.parse()
	if err != nil {
		return "", "", nil, err
	}
	if err := makeStore(o.StorageRoot); err != nil {
		return "", "", nil, err
	}
	img, err := resolve(ctx, o, src)
	if err != nil {
		return "", "", nil, err
	}
	return img.manifest, img.config, img.diffIDs(), nil
}

// Learn reads one apt source file for suite and returns the guest's sources.
func Learn(suite, text string, deb822 bool) []string {
	b := base{suite: suite}
	b.learn(text, deb822)
	return b.lines()
}

// Locate resolves name in the tree root as the worker does.
func Locate(root, name string) (string, error) { return newPlacer(root).locate(name) }

// ReadLayer reads a stored layer to its end as the worker does and returns the
// archive in it with both digests.
func ReadLayer(stored io.Reader, limits vet.Limits) (plain []byte, digest, diffID string, err error) {
	var image int64
	s, err := openLayer(stored, limits, &image)
	if err != nil {
		return nil, "", "", err
	}
	defer s.close()
	var buf bytes.Buffer
	for archive := tar.NewReader(io.TeeReader(s, &buf)); ; {
		if _, err := archive.Next(); err == io.EOF {
			break
		} else if err != nil {
			return nil, "", "", err
		}
	}
	if err := s.finish(); err != nil {
		return nil, "", "", err
	}
	return buf.Bytes(), hashOf(s.stored.sum).String(), hashOf(s.sum).String(), nil
}

// RunWorker applies stored layers to the directory rootfs and says how it went.
func RunWorker(ctx context.Context, o Options, rootfs string, layers []*os.File, diffIDs []string) error {
	o = o.withDefaults()
	root, err := os.Open(rootfs)
	if err != nil {
		return err
	}
	defer root.Close()
	img := &resolved{}
	for i, f := range layers {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		img.layers = append(img.layers, storedLayer{diffID: diffIDs[i], size: info.Size()})
	}
	_, err = runWorker(ctx, o, root, unpackJob(o, img), layers, 0)
	return err
}

// Empty removes what a test left in the directory rootfs, as its owners may.
func Empty(ctx context.Context, o Options, rootfs string) error {
	root, err := os.Open(rootfs)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = runWorker(ctx, o.withDefaults(), root, job{Action: jobEmpty}, nil, 0)
	return err
}

// Discard removes a whole test Storage Root with its trees of mapped owners.
func Discard(root string, ids runtime.IDs) error {
	o := Options{StorageRoot: root, IDs: ids}.withDefaults()
	entries, _ := os.ReadDir(lowersDir(root))
	for _, e := range entries {
		if err := removeTree(context.Background(), o, filepath.Join(lowersDir(root), e.Name()), ids); err != nil {
			return err
		}
	}
	return os.RemoveAll(root)
}
