package image_test

import (
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/image"
)

func TestSourceKinds(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("0", 64)
	for source, want := range map[image.Source]string{
		"builtin":                            "builtin",
		"oci:/srv/layout":                    "oci",
		"oci:/srv/layout:base":               "oci",
		"docker-archive:/srv/a.tar":          "docker-archive",
		"docker-archive:/a.tar:h/n:t":        "docker-archive",
		"registry.example/name:tag":          "registry",
		"registry.example:5000/a/b:t":        "registry",
		image.Source("r.example/n" + digest): "registry",
	} {
		if got, err := image.Kind(source); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", source, got, err, want)
		}
	}
}

func TestSourceRefusals(t *testing.T) {
	t.Parallel()
	for bad, twin := range map[image.Source]image.Source{
		"":                              "builtin",
		"debian":                        "registry.example/debian:trixie",
		"debian:trixie":                 "registry.example/library/debian:trixie",
		"registry.example/debian":       "registry.example/debian:latest",
		"registry.example/Debian:t":     "registry.example/debian:t",
		"registry.example/a@sha256:12":  image.Source("registry.example/a@sha256:" + strings.Repeat("1", 64)),
		"oci:":                          "oci:.",
		"oci:a:":                        "oci:a:b",
		"oci:\x00":                      "oci:0",
		"docker-archive:":               "docker-archive:a",
		"docker://registry.example/a:t": "registry.example/a:t",
	} {
		_, err := image.Kind(bad)
		if fault.KindOf(err) != fault.Image || fault.FixOf(err) == "" {
			t.Errorf("%q: %v, want an image fault with a fix", bad, err)
		}
		if _, err := image.Kind(twin); err != nil {
			t.Errorf("%q: %v", twin, err)
		}
	}
}

func TestSourceCanonicalText(t *testing.T) {
	t.Parallel()
	abs, err := filepath.Abs("x/y")
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[image.Source]string{
		"oci:x/../x/y:t":                        "oci:" + abs + ":t",
		"oci:x/y":                               "oci:" + abs,
		"docker-archive:./x/y":                  "docker-archive:" + abs,
		"docker-archive:x/y:r.example:5000/n:t": "docker-archive:" + abs + ":r.example:5000/n:t",
		"builtin":                               "builtin",
	} {
		if got, err := image.Canonical(source); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", source, got, err, want)
		}
	}
}

// FuzzSource: what is accepted has a canonical text that means the same.
func FuzzSource(f *testing.F) {
	for _, s := range []string{"builtin", "oci:/a:b", "oci:a", "docker-archive:/a/b.tar:c/d:e", "r.example/n:t", "oci:a:b:c", ":", "oci::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := image.Canonical(image.Source(s))
		if err != nil {
			return
		}
		again, err := image.Canonical(image.Source(text))
		if err != nil || again != text {
			t.Fatalf("%q has the text %q, which has %q (%v)", s, text, again, err)
		}
	})
}
