package image_test

import (
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
)

// serve runs a registry on loopback behind wrap and returns its host:port.
func serve(tb testing.TB, wrap func(http.Handler) http.Handler) string {
	tb.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// push sends img to host under name:tag and returns its manifest's digest.
func push(tb testing.TB, host string, img testImage) v1.Hash {
	tb.Helper()
	path, err := layout.FromPath(writeImage(tb, img))
	if err != nil {
		tb.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		tb.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		tb.Fatal(err)
	}
	digest := list.Manifests[0].Digest
	image, err := index.Image(digest)
	if err != nil {
		tb.Fatal(err)
	}
	ref, err := name.ParseReference(host+"/name:tag", name.Insecure)
	if err != nil {
		tb.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		tb.Fatal(err)
	}
	return digest
}

func pulling(tb testing.TB, source string) image.Options {
	return image.Options{
		StorageRoot: tb.TempDir(), Source: image.Source(source), Insecure: true, IDs: runtime.IDs{Mode: runtime.ModeSingle},
	}
}

func TestPullByTagAndDigest(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	layers := []blob{gz(reg("f", "text")), layerOf(archived(reg("g", "more")), zstded)}
	digest := push(t, host, testImage{layers: layers})
	for _, source := range []string{host + "/name:tag", host + "/name@" + digest.String(), host + "/name:tag@" + digest.String()} {
		o := pulling(t, source)
		var last int64
		o.Progress = func(stage string, done, total int64) {
			if stage == image.StageDownload {
				last = done
				if total != int64(layers[0].size+layers[1].size) {
					t.Errorf("%q: total %d", source, total)
				}
			}
		}
		manifest, _, ids, err := image.Resolve(t.Context(), o)
		if err != nil || manifest != digest.String() || len(ids) != 2 || ids[1] != layers[1].diffID {
			t.Errorf("%q: %q %q, %v", source, manifest, ids, err)
		}
		if last != int64(layers[0].size+layers[1].size) {
			t.Errorf("%q: progress ended at %d", source, last)
		}
		for _, l := range layers {
			b, err := os.ReadFile(filepath.Join(o.StorageRoot, "blobs/sha256", l.digest[7:]))
			if err != nil || digestOf(b) != l.digest {
				t.Errorf("%q: cached layer: %v", source, err)
			}
		}
	}
}

func TestPullRefusals(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	push(t, host, testImage{layers: []blob{gz(reg("f", "text"))}})
	foreign := serve(t, nil)
	push(t, foreign, testImage{os: "linux", arch: "arm64", layers: []blob{gz(reg("f", "text"))}})
	for source, want := range map[string]struct{ text, fix string }{
		host + "/name:other":                             {"MANIFEST_UNKNOWN", "whether the name"},
		host + "/nobody:tag":                             {"NAME_UNKNOWN", "whether the name"},
		host + "/name@sha256:" + strings.Repeat("0", 64): {"MANIFEST_UNKNOWN", "whether the name"},
		foreign + "/name:tag":                            {"this host runs", ""},
		"127.0.0.1:1/name:tag":                           {"cannot be fetched", "can be reached"},
	} {
		_, _, _, err := image.Resolve(t.Context(), pulling(t, source))
		if err == nil || !strings.Contains(err.Error(), want.text) || !strings.Contains(fault.FixOf(err), want.fix) {
			t.Errorf("%q: %v (fix %q)", source, err, fault.FixOf(err))
		}
	}
}

func TestPullRefusesPlainHTTP(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	push(t, host, testImage{layers: []blob{gz(reg("f", "text"))}})
	o := pulling(t, host+"/name:tag")
	o.Insecure = false
	_, _, _, err := image.Resolve(t.Context(), o)
	if fault.KindOf(err) != fault.Image || !strings.Contains(err.Error(), "plain http") || !strings.Contains(fault.FixOf(err), "--insecure") {
		t.Errorf("%v (fix %q)", err, fault.FixOf(err))
	}
	o.Insecure = true
	if _, _, _, err := image.Resolve(t.Context(), o); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

// tamper changes what the registry answers for one kind of path.
func tamper(part string, change func([]byte) []byte) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, part) {
				next.ServeHTTP(w, r)
				return
			}
			kept := httptest.NewRecorder()
			next.ServeHTTP(kept, r)
			body := change(kept.Body.Bytes())
			for k, v := range kept.Header() {
				if k != "Content-Length" {
					w.Header()[k] = v
				}
			}
			w.WriteHeader(kept.Code)
			_, _ = w.Write(body)
		})
	}
}

func TestPullNoticesTampering(t *testing.T) {
	t.Parallel()
	layer := gz(reg("f", strings.Repeat("text", 1000)))
	flipped := func(b []byte) []byte { return flip(append([]byte(nil), b...), -1) }
	for name, c := range map[string]struct {
		part   string
		change func([]byte) []byte
	}{
		"a layer with a flipped bit":  {"/blobs/" + layer.digest, flipped},
		"a layer cut short":           {"/blobs/" + layer.digest, func(b []byte) []byte { return b[:len(b)/2] }},
		"a layer with more behind it": {"/blobs/" + layer.digest, func(b []byte) []byte { return append(append([]byte(nil), b...), 'x') }},
		"a changed manifest":          {"/manifests/sha256:", func(b []byte) []byte { return append(append([]byte(nil), b...), ' ') }},
	} {
		host := serve(t, tamper(c.part, c.change))
		digest := push(t, host, testImage{layers: []blob{layer}})
		o := pulling(t, host+"/name@"+digest.String())
		if _, _, _, err := image.Resolve(t.Context(), o); fault.KindOf(err) != fault.Image {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(filepath.Join(o.StorageRoot, "blobs/sha256")); len(left) != 0 {
			t.Errorf("%s: %d blobs were kept", name, len(left))
		}
	}
}

func TestPullWithCredentials(t *testing.T) {
	t.Parallel()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))
	open := true
	host := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !open && r.Header.Get("Authorization") != want {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	push(t, host, testImage{layers: []blob{gz(reg("f", "text"))}})
	open = false
	o := pulling(t, host+"/name:tag")
	_, _, _, err := image.Resolve(t.Context(), o)
	if fault.KindOf(err) != fault.Image || !strings.Contains(fault.FixOf(err), "--auth-file") {
		t.Errorf("no credentials: %v (fix %q)", err, fault.FixOf(err))
	}
	auth := func(hostname, text string) string {
		path := filepath.Join(t.TempDir(), "config.json")
		put(t, filepath.Dir(path), "config.json", encode(t, object{
			"credsStore": "nobody-runs-this", "auths": object{hostname: object{"auth": base64.StdEncoding.EncodeToString([]byte(text))}},
		}))
		return path
	}
	for _, c := range []struct {
		file string
		ok   bool
	}{{auth(host, "me:secret"), true}, {auth(host, "me:wrong"), false}, {auth("other.example", "me:secret"), false}} {
		o.AuthFile = c.file
		if _, _, _, err := image.Resolve(t.Context(), o); (err == nil) != c.ok {
			t.Errorf("with %q: %v", c.file, err)
		}
	}
}

func TestAuthFileRefusals(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no JSON": "{secret", "no base64": `{"auths":{"h":{"auth":"%"}}}`, "no colon": `{"auths":{"h":{"auth":"YQ=="}}}`} {
		path := filepath.Join(t.TempDir(), "config.json")
		put(t, filepath.Dir(path), "config.json", []byte(text))
		_, err := image.ReadAuthFile(path)
		if fault.KindOf(err) != fault.Config || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
