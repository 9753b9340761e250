package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"lazaret.dev/lazaret/internal/fault"
)

// pull resolves a registry reference and fetches the layers that are not cached.
func pull(ctx context.Context, o Options, src parsed) (*resolved, error) {
	ref, err := reachable(src, o.Insecure)
	if err != nil {
		return nil, err
	}
	keys, err := keychain(o.AuthFile)
	if err != nil {
		return nil, err
	}
	desc, err := remote.Get(ref,
		remote.WithContext(ctx),
		remote.WithAuthFromKeychain(keys),
		remote.WithPlatform(v1.Platform{OS: platformOS, Architecture: platformArch}),
		remote.WithUserAgent("lazaret"))
	if err != nil {
		return nil, refused(src, err)
	}
	if err := pinned(ref, desc.Manifest); err != nil {
		return nil, err
	}
	index := ""
	if desc.MediaType.IsIndex() {
		index = desc.Digest.String()
	}
	img, err := desc.Image()
	if err != nil {
		return nil, refused(src, err)
	}
	return fetch(ctx, o, src, img, index)
}

// reachable refuses plain http unless it is allowed: it would be chosen silently
// for loopback and private addresses.
func reachable(src parsed, insecure bool) (name.Reference, error) {
	if insecure {
		return name.ParseReference(src.text, name.StrictValidation, name.Insecure)
	}
	if src.ref.Context().Scheme() != "https" {
		return nil, &fault.Error{
			Kind:    fault.Image,
			Message: fmt.Sprintf("registry %q would be reached over plain http", src.ref.Context().RegistryStr()),
			Fix:     "use a registry with TLS, or allow it with --insecure",
		}
	}
	return src.ref, nil
}

// pinned holds what the registry answered to the digest in the reference.
func pinned(ref name.Reference, manifest []byte) error {
	d, ok := ref.(name.Digest)
	if !ok {
		return nil
	}
	want, err := v1.NewHash(d.DigestStr())
	if err != nil {
		return fmt.Errorf("read digest of %q: %w", ref.String(), err)
	}
	return verifyDigest("the registry's answer", manifest, want)
}

func fetch(ctx context.Context, o Options, src parsed, img v1.Image, index string) (*resolved, error) {
	raw, err := img.RawManifest()
	if err != nil {
		return nil, refused(src, err)
	}
	if int64(len(raw)) > o.Limits.DocumentBytes {
		return nil, fmt.Errorf("the manifest of %d bytes exceeds the limit of %d", len(raw), o.Limits.DocumentBytes)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, refused(src, err)
	}
	if err := verifyDigest("the manifest", raw, digest); err != nil {
		return nil, err
	}
	manifest, err := parseManifest(raw, o.Limits)
	if err != nil {
		return nil, err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return nil, refused(src, err)
	}
	if err := verifyDigest("the image configuration", config, manifest.Config.Digest); err != nil {
		return nil, err
	}
	cache := newBlobCache(o.StorageRoot)
	out, err := assemble(manifest, digest, config, index, cache.path)
	if err != nil {
		return nil, err
	}
	return out, download(ctx, o, src, cache, img, manifest.Layers)
}

// download fills the cache with the layers it lacks.
func download(ctx context.Context, o Options, src parsed, cache blobCache, img v1.Image, layers []v1.Descriptor) error {
	var total, done int64
	for _, l := range layers {
		total += l.Size
	}
	for _, l := range layers {
		o.Progress(StageDownload, done, total)
		err := cache.fill(ctx, l, func() (v1.Layer, error) { return img.LayerByDigest(l.Digest) },
			func(n int64) { o.Progress(StageDownload, done+n, total) })
		if err != nil {
			return refused(src, err)
		}
		done += l.Size
	}
	o.Progress(StageDownload, total, total)
	return nil
}

// refused turns what a registry answered into words and a remedy.
func refused(src parsed, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	f := &fault.Error{Kind: fault.Image, Message: fmt.Sprintf("image %q cannot be fetched", src.text), Err: err}
	var answer *transport.Error
	switch {
	case !errors.As(err, &answer):
		f.Fix = "see whether the registry can be reached, and run the command again"
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden:
		f.Fix = "give credentials with --auth-file, or name a public image"
	case answer.StatusCode == http.StatusNotFound:
		f.Fix = "see whether the name, the tag and the digest are right"
	}
	return f
}

// keychain reads credentials from file, or has none.
func keychain(file string) (authn.Keychain, error) {
	if file == "" {
		return anonymous{}, nil
	}
	return readAuthFile(file)
}

type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }
