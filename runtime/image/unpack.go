package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// unpack makes the tree of img in a staging directory and publishes it as key.
func unpack(ctx context.Context, o Options, src parsed, img *resolved, key string) (record, error) {
	if err := roomFor(o, img); err != nil {
		return record{}, err
	}
	stage, err := newStage(ctx, o)
	if err != nil {
		return record{}, err
	}
	defer stage.discard(ctx)
	layers, err := openLayers(img)
	defer closeAll(layers)
	if err != nil {
		return record{}, err
	}
	out, err := runWorker(ctx, o, stage.rootfs, unpackJob(o, img), layers, img.size())
	if err != nil {
		if out.why == failDigest {
			forgetBlobs(o, src, img)
		}
		return record{}, worded(o, src, out, err)
	}
	o.Progress(StagePublish, 0, 0)
	r := record{
		Version: recordVersion, Type: recordType, Tree: treeDirectory,
		Key: key, Content: contentOf(img, o.IDs),
		Source: src.text, Index: img.index, Layers: img.digests(),
		Env: img.conf.Config.Env, User: img.conf.Config.User, Dir: img.conf.Config.WorkingDir,
		Prepared: o.now().Unix(), Entries: out.last.Entries, Bytes: out.last.Content, Notes: out.notes,
	}
	return r, stage.publish(r)
}

func unpackJob(o Options, img *resolved) job {
	j := job{
		Action: jobUnpack, Limits: o.Limits, Owners: owners(o.IDs), Switch: o.test,
		Strict: o.IDs.Mode == runtime.ModeSingle,
		Adapt:  adaptations{AptAsRoot: o.IDs.Mode == runtime.ModeSingle},
	}
	for _, l := range img.layers {
		j.Layers = append(j.Layers, jobLayer{Offset: l.offset, Size: l.size, Digest: l.digest, DiffID: l.diffID})
	}
	return j
}

// owners says which guest ids the map expresses.
func owners(ids runtime.IDs) vet.Owners {
	switch ids.Mode {
	case runtime.ModeSubordinate: // guest 0 is the caller, the range begins at 1
		return vet.Owners{UIDs: ids.UIDs.Count + 1, GIDs: ids.GIDs.Count + 1}
	case runtime.ModeRoot:
		return vet.Owners{UIDs: ids.UIDs.Count, GIDs: ids.GIDs.Count}
	default:
		return vet.Owners{Collapse: true}
	}
}

func openLayers(img *resolved) ([]*os.File, error) {
	var files []*os.File
	for i, l := range img.layers {
		f, err := l.open()
		if err != nil {
			return files, fmt.Errorf("open layer %d: %w", i+1, err)
		}
		files = append(files, f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// roomFor refuses early when the file system clearly cannot take the tree. A
// stored layer unpacks to at least its own size, and to twice that as a rule when
// it is compressed.
func roomFor(o Options, img *resolved) error {
	need := uint64(img.size())
	if img.manifest != "" {
		need *= 2
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(lowersDir(o.StorageRoot), &fs); err != nil {
		return fmt.Errorf("look at free space: %w", err)
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if free < need+o.Limits.Free.Bytes || (fs.Files > 0 && fs.Ffree < o.Limits.Free.Inodes) {
		return noRoom(o, fmt.Sprintf("about %d MiB are needed, %d MiB and %d inodes are free", (need+o.Limits.Free.Bytes)>>20, free>>20, fs.Ffree))
	}
	return nil
}

func noRoom(o Options, detail string) error {
	return &fault.Error{
		Kind:    fault.Image,
		Message: fmt.Sprintf("not enough free space for an image in %q", o.StorageRoot),
		Err:     errors.New(detail),
		Fix:     "free space on that file system, or set data_root in [storage] to a directory on a larger one",
	}
}

// worded turns a worker's failure into the error a person sees.
func worded(o Options, src parsed, out outcome, err error) error {
	f := &fault.Error{Kind: fault.Image, Err: err}
	switch out.why {
	case failSpace:
		return noRoom(o, err.Error())
	case failVet:
		f.Message = fmt.Sprintf("image %q is refused", src.text)
		f.Fix = "use another image, or have this one built without the entry; docs/images.md lists the rules"
		if out.rule == vet.RuleOwner {
			f.Fix = "give this account a subordinate range that covers the id (subuid(5), subgid(5)), or use another image"
		}
	case failDigest, failArchive:
		f.Message = fmt.Sprintf("image %q is damaged or was tampered with", src.text)
		f.Fix = "fetch or build the image again"
	case failConfine:
		f.Kind = fault.Host
		f.Message = "the image worker cannot be confined on this host"
		f.Fix = "run lazaret doctor"
	default:
		f.Message = fmt.Sprintf("image %q cannot be unpacked", src.text)
	}
	return f
}

// setAside moves a lower with an unsound record out of the way. Its tree goes
// with the next sweep.
func setAside(o Options, key string) error {
	dir := filepath.Join(lowersDir(o.StorageRoot), key)
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	if f, err := os.Open(filepath.Join(dir, recordName)); err == nil {
		defer f.Close()
		if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return fmt.Errorf("replace damaged image %.12s: it is in use: %w", key, err)
		}
	}
	ids, err := canon.Marshal(o.IDs)
	if err != nil {
		return err
	}
	if err := writeFileSync(filepath.Join(dir, idsName), ids, 0o600); err != nil {
		return err
	}
	aside := filepath.Join(lowersDir(o.StorageRoot), stagePrefix+key[:16])
	if err := os.Rename(dir, aside); err != nil {
		return fmt.Errorf("set damaged image aside: %w", err)
	}
	return nil
}
