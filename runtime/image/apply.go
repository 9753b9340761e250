package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/umoci/oci/layer"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/image/vet"
)

const (
	progressEvery = 4 << 20 // stored or written bytes between two looks at space
	entriesEvery  = 500     // entries between two looks at space
	maxNotes      = 100
)

// applier applies the layers of one image to a root directory, bottom first.
type applier struct {
	root   string
	job    job
	events io.Writer
	vetter *vet.Vetter
	place  *placer

	stored  int64 // stored bytes of the layers before this one
	plain   int64 // plain bytes of all layers
	content int64 // bytes of files written
	looked  int64 // content at the last look at space
	at      int   // index of the layer at work
	stream  *layerStream
	notes   int
}

func newApplier(root string, j job, events io.Writer) *applier {
	return &applier{root: root, job: j, events: events, vetter: vet.New(j.Limits, j.Owners), place: newPlacer(root)}
}

func (a *applier) apply() error {
	for i, l := range a.job.Layers {
		a.at = i
		f := os.NewFile(uintptr(firstLayerFD+i), "layer")
		if err := a.layer(f, l); err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
		f.Close()
		a.stored += l.Size
	}
	return nil
}

func (a *applier) layer(f *os.File, l jobLayer) error {
	s, err := openLayer(io.NewSectionReader(f, l.Offset, l.Size), a.job.Limits, &a.plain)
	if err != nil {
		return &workError{failArchive, err}
	}
	defer s.close()
	a.stream = s
	a.vetter.NextLayer()
	// The rootfs is written with the ids of this namespace, so the extractor maps
	// nothing; a new one per layer, because whiteouts spare the layer they are in.
	extract := layer.NewTarExtractor(&layer.UnpackOptions{OnDiskFormat: layer.DirRootfs{}})
	archive := tar.NewReader(s)
	for {
		hdr, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &workError{failArchive, fmt.Errorf("read archive: %w", err)}
		}
		if err := a.entry(extract, hdr, archive); err != nil {
			return err
		}
	}
	if err := s.finish(); err != nil {
		return &workError{failArchive, err}
	}
	return a.verify(s, l)
}

// verify compares both digests of a layer that was read to its end.
func (a *applier) verify(s *layerStream, l jobLayer) error {
	if got := hashOf(s.stored.sum).String(); l.Digest != "" && got != l.Digest {
		return &workError{failDigest, fmt.Errorf("stored bytes have digest %s, not %s as the manifest says", got, l.Digest)}
	}
	if got := hashOf(s.sum).String(); got != l.DiffID {
		return &workError{failDigest, fmt.Errorf("archive has digest %s, not %s as the configuration says", got, l.DiffID)}
	}
	return nil
}

func (a *applier) entry(extract *layer.TarExtractor, hdr *tar.Header, content io.Reader) error {
	if a.job.Switch.NoVet {
		return extract.UnpackEntry(a.root, hdr, content)
	}
	name := hdr.Name
	entry, err := a.vetter.Entry(hdr)
	if err != nil {
		return err
	}
	if entry.Note != "" {
		a.note(entry.Note)
	}
	if err := a.look(); err != nil {
		return err
	}
	if entry.Action == vet.Skip {
		return nil
	}
	if err := a.place.place(hdr, entry); err != nil {
		return err
	}
	a.content += hdr.Size
	if err := extract.UnpackEntry(a.root, hdr, content); err != nil {
		return a.blame(name, err)
	}
	return nil
}

// blame finds out whether the archive or the disk made the extractor fail.
func (a *applier) blame(name string, err error) error {
	err = fmt.Errorf("entry %.200q: %w", name, err)
	var refusal *vet.Refusal
	if errors.As(err, &refusal) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrShortWrite) {
		return &workError{failArchive, err}
	}
	return err
}

// look reports progress and refuses to fill the file system to the brim, every
// few entries and megabytes.
func (a *applier) look() error {
	if a.vetter.Entries()%entriesEvery != 0 && a.content-a.looked < progressEvery {
		return nil
	}
	a.looked = a.content
	if err := writeMessage(a.events, a.progress(eventProgress)); err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	return checkSpace(rootFD, a.job.Limits)
}

func checkSpace(fd int, limits vet.Limits) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return fmt.Errorf("look at free space: %w", err)
	}
	if fs.Bavail*uint64(fs.Bsize) < limits.Free.Bytes || (fs.Files > 0 && fs.Ffree < limits.Free.Inodes) {
		return fmt.Errorf("%d MiB and %d inodes are free: %w", fs.Bavail*uint64(fs.Bsize)>>20, fs.Ffree, unix.ENOSPC)
	}
	return nil
}

func (a *applier) progress(kind string) event {
	read := a.stored
	if kind != eventDone && a.stream != nil {
		read += a.stream.stored.n.Load()
	}
	return event{Kind: kind, Layer: a.at, Bytes: read, Entries: a.vetter.Entries(), Content: a.content}
}

// note passes on what was changed or left out, the first hundred times.
func (a *applier) note(text string) {
	if a.notes++; a.notes > maxNotes {
		return
	}
	// A preparer that is gone is noticed by the next progress event.
	_ = writeMessage(a.events, event{Kind: eventNote, Layer: a.at, Text: printable(text)})
}

// adapt changes a finished tree for the id map it was made for.
func adapt(root string, what adaptations) error {
	if !what.AptAsRoot {
		return nil
	}
	const conf = "etc/apt/apt.conf.d"
	real, err := newPlacer(root).resolve("", conf)
	if err != nil || real != conf {
		return nil // reached through a link: not an image with apt as packaged
	}
	if _, err := os.Lstat(filepath.Join(root, conf)); err != nil {
		return nil
	}
	path := filepath.Join(root, conf, "99lazaret-single-id")
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("adapt apt to a single id: %w", err)
	}
	const text = "// Written by Lazaret: this sandbox has one user id, so apt cannot change to _apt.\nAPT::Sandbox::User \"root\";\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("adapt apt to a single id: %w", err)
	}
	return nil
}
