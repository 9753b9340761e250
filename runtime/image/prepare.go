package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// Progress hears how far a stage has come, in bytes; total is 0 when unknown. It
// may be called from any goroutine, one at a time.
type Progress func(stage string, done, total int64)

// The stages, in the order they come.
const (
	StageWait     = "wait"     // another process prepares the same image
	StageBuild    = "build"    // the built-in recipe runs
	StageResolve  = "resolve"  // manifest and configuration are read
	StageDownload = "download" // layers come from a registry
	StageUnpack   = "unpack"   // layers are vetted and applied
	StagePublish  = "publish"  // the tree is made durable and visible
)

// Options say what to prepare and how.
type Options struct {
	StorageRoot string // absolute
	IDs         runtime.IDs
	Source      Source
	// Refresh looks at the source again even when it is prepared: a tag may have
	// moved, a recipe may give newer packages.
	Refresh bool
	// Insecure allows a registry over plain http.
	Insecure bool
	// AuthFile is a docker-style config.json with registry credentials; empty for
	// none. Credential helpers are never run.
	AuthFile string
	Progress Progress
	Limits   vet.Limits // zero value: the defaults

	now  func() time.Time
	test testSwitch
	mode string // hidden mode of the worker
}

func (o Options) withDefaults() Options {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if o.Limits == (vet.Limits{}) {
		o.Limits = vet.DefaultLimits()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.mode == "" {
		o.mode = workerMode
	}
	return o
}

// Prepare returns the lower for a source, preparing it when there is none yet or
// Refresh is set. Several processes may ask for the same source at once: one does
// the work and the others wait for it. On error nothing is left behind but
// verified blobs.
func Prepare(ctx context.Context, o Options) (Lower, error) {
	o = o.withDefaults()
	src, err := o.Source.parse()
	if err != nil {
		return Lower{}, err
	}
	lower, err := prepare(ctx, o, src)
	if err != nil {
		return Lower{}, explain(src, err)
	}
	return lower, nil
}

func prepare(ctx context.Context, o Options, src parsed) (Lower, error) {
	if err := makeStore(o.StorageRoot); err != nil {
		return Lower{}, err
	}
	if !o.Refresh {
		if lower, ok, err := find(o.StorageRoot, src, o.IDs); ok || err != nil {
			return lower, err
		}
	}
	lock, waited, err := lockSource(ctx, o, src)
	if err != nil {
		return Lower{}, err
	}
	defer lock.Close()
	if waited || !o.Refresh { // the one we waited for did what we want
		if lower, ok, err := find(o.StorageRoot, src, o.IDs); ok || err != nil {
			return lower, err
		}
	}
	if err := sweep(ctx, o); err != nil {
		return Lower{}, err
	}
	o.Progress(StageResolve, 0, 0)
	img, err := resolve(ctx, o, src)
	if err != nil {
		return Lower{}, err
	}
	return settle(ctx, o, src, img)
}

func lockSource(ctx context.Context, o Options, src parsed) (lock *os.File, waited bool, err error) {
	name, err := pinName(src, o.IDs)
	if err != nil {
		return nil, false, err
	}
	lock, err = lockFile(ctx, filepath.Join(locksDir(o.StorageRoot), name), func() {
		waited = true
		o.Progress(StageWait, 0, 0)
	})
	return lock, waited, err
}

func resolve(ctx context.Context, o Options, src parsed) (*resolved, error) {
	switch src.kind {
	case kindBuiltin:
		return resolveBuiltin(ctx, o)
	case kindLayout:
		return openLayout(src.path, src.tag, o.Limits)
	case kindArchive:
		return openArchive(src.path, src.tag, o.Limits)
	default:
		return pull(ctx, o, src)
	}
}

// settle returns the lower for a resolved image, unpacking it if need be, and
// pins the source to it.
func settle(ctx context.Context, o Options, src parsed, img *resolved) (Lower, error) {
	key, err := contentOf(img, o.IDs).key()
	if err != nil {
		return Lower{}, err
	}
	r, err := readRecord(o.StorageRoot, key)
	if err != nil {
		if err := setAside(o, key); err != nil {
			return Lower{}, err
		}
		if r, err = unpack(ctx, o, src, img, key); err != nil {
			return Lower{}, err
		}
	}
	if err := writePin(o.StorageRoot, src, o.IDs, key); err != nil {
		return Lower{}, err
	}
	lower := r.lower(o.StorageRoot)
	lower.Source = src.text
	return lower, nil
}

// explain gives an error its kind and, where it has none, its remedy.
func explain(src parsed, err error) error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &fault.Error{Kind: fault.Image, Message: fmt.Sprintf("preparing image %q was cancelled", src.text), Err: err, Fix: "run the command again"}
	default:
		return &fault.Error{Kind: fault.Image, Message: fmt.Sprintf("image %q cannot be prepared", src.text), Err: err}
	}
}
