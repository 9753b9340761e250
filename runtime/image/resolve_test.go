package image_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
)

func resolve(tb testing.TB, source string) (manifest, config string, diffIDs []string, err error) {
	tb.Helper()
	return image.Resolve(tb.Context(), image.Options{
		StorageRoot: tb.TempDir(), Source: image.Source(source), IDs: runtime.IDs{Mode: runtime.ModeSingle},
	})
}

func TestResolveLayout(t *testing.T) {
	t.Parallel()
	layer := gz(reg("f", "text"))
	dir := writeImage(t, testImage{tag: "base", layers: []blob{layer}})
	for _, source := range []string{"oci:" + dir, "oci:" + dir + ":base"} {
		manifest, config, diffIDs, err := resolve(t, source)
		if err != nil || len(diffIDs) != 1 || diffIDs[0] != layer.diffID || manifest == "" || config == "" {
			t.Errorf("%q: %q %q %q, %v", source, manifest, config, diffIDs, err)
		}
	}
}

// refuseImage holds an error to being about the image, and to naming what.
func refuseImage(tb testing.TB, err error, want string) {
	tb.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		tb.Errorf("got %v, want an error about %q", err, want)
	}
}

func TestResolveLayoutRefusals(t *testing.T) {
	t.Parallel()
	good := func() testImage { return testImage{tag: "base", layers: []blob{gz(reg("f", "text"))}} }
	edit := func(change func(dir string)) string {
		dir := writeImage(t, good())
		change(dir)
		return "oci:" + dir
	}
	rewrite := func(name string, change func(string) string) func(string) {
		return func(dir string) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, name, []byte(change(string(b))))
		}
	}
	if _, _, _, err := resolve(t, edit(func(string) {})); err != nil {
		t.Fatalf("the twin of them all: %v", err)
	}
	for want, source := range map[string]string{
		"no OCI image layout":     "oci:" + t.TempDir(),
		`has the tag "other"`:     edit(func(string) {}) + ":other",
		"read image index":        edit(rewrite("index.json", func(string) string { return "{" })),
		"manifest has digest":     edit(flipBlobs(t, "application/vnd.oci.image.manifest.v1+json")),
		"configuration has diges": edit(flipBlobs(t, `"architecture"`)),
		"for linux/amd64":         "oci:" + writeImage(t, testImage{os: "linux", arch: "arm64", layers: []blob{gz(dir("d"))}}),
		"has no layers":           "oci:" + writeImage(t, testImage{}),
		"129 layers exceed":       "oci:" + writeImage(t, testImage{layers: manyLayers(129)}),
		"limit of 4194304 bytes":  edit(rewrite("index.json", func(s string) string { return s + strings.Repeat(" ", 4<<20) })),
		"not a regular file": edit(func(dir string) {
			if err := os.Remove(filepath.Join(dir, "index.json")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "index.json"), 0o700); err != nil {
				t.Fatal(err)
			}
		}),
	} {
		_, _, _, err := resolve(t, source)
		refuseImage(t, err, want)
	}
}

// flipBlobs changes one letter of the JSON blob that holds mark, keeping it JSON.
func flipBlobs(tb testing.TB, mark string) func(string) {
	return func(dir string) {
		blobs, err := filepath.Glob(filepath.Join(dir, "blobs/sha256/*"))
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range blobs {
			b, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			if s := string(b); strings.HasPrefix(s, "{") && strings.Contains(s, mark) && strings.Contains(s, "sha256:") {
				i := strings.LastIndex(s, "sha256:") + len("sha256:")
				letter := "0"
				if s[i] == '0' {
					letter = "1"
				}
				if err := os.WriteFile(path, []byte(s[:i]+letter+s[i+1:]), 0o644); err != nil {
					tb.Fatal(err)
				}
				return
			}
		}
		tb.Fatalf("no blob holds %q", mark)
	}
}

func manyLayers(n int) []blob {
	var out []blob
	for range n {
		out = append(out, gz(dir("d")))
	}
	return out
}

// Config and manifest must agree on how many layers there are.
func TestResolveCountsDiffIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layer := gz(reg("f", "x"))
	put(t, dir, "blobs/sha256/"+layer.digest[7:], layer.stored)
	config := encode(t, object{"os": "linux", "architecture": "amd64", "rootfs": object{"type": "layers", "diff_ids": []any{layer.diffID, layer.diffID}}})
	put(t, dir, "blobs/sha256/"+digestOf(config)[7:], config)
	manifest := encode(t, object{
		"schemaVersion": 2,
		"layers":        []any{object{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": layer.size, "digest": layer.digest}},
		"config":        object{"mediaType": "application/vnd.oci.image.config.v1+json", "size": len(config), "digest": digestOf(config)},
	})
	put(t, dir, "blobs/sha256/"+digestOf(manifest)[7:], manifest)
	put(t, dir, "index.json", encode(t, object{"manifests": []any{object{
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": len(manifest), "digest": digestOf(manifest),
	}}}))
	_, _, _, err := resolve(t, "oci:"+dir)
	refuseImage(t, err, "it names 2 layers, the manifest 1")
}

func TestResolveChoosesByPlatformAndTag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours := testImage{tag: "a", layers: []blob{gz(reg("f", "amd64"))}}
	theirs := testImage{tag: "a", os: "linux", arch: "arm64", layers: []blob{gz(reg("f", "arm64"))}}
	other := testImage{tag: "b", layers: []blob{gz(reg("f", "other"))}}
	inner := encode(t, object{"schemaVersion": 2, "manifests": []any{theirs.write(t, dir), ours.write(t, dir)}})
	put(t, dir, "blobs/sha256/"+digestOf(inner)[7:], inner)
	nested := object{
		"mediaType": "application/vnd.oci.image.index.v1+json", "size": len(inner), "digest": digestOf(inner),
		"annotations": object{"org.opencontainers.image.ref.name": "a"},
	}
	put(t, dir, "index.json", encode(t, object{"manifests": []any{nested, other.write(t, dir)}}))

	_, _, ids, err := resolve(t, "oci:"+dir+":a")
	if err != nil || len(ids) != 1 || ids[0] != ours.layers[0].diffID {
		t.Errorf("tag a: %q, %v", ids, err)
	}
	_, _, ids, err = resolve(t, "oci:"+dir+":b")
	if err != nil || len(ids) != 1 || ids[0] != other.layers[0].diffID {
		t.Errorf("tag b: %q, %v", ids, err)
	}
	_, _, _, err = resolve(t, "oci:"+dir)
	refuseImage(t, err, "there are 2 images")
	if fix := fault.FixOf(err); !strings.Contains(fix, "a, b") {
		t.Errorf("the fix %q does not name the tags", fix)
	}
}

// writeArchive writes a docker-archive of images, all with one layer.
func writeArchive(tb testing.TB, tags ...string) string {
	tb.Helper()
	var list []any
	var items []item
	for n, tag := range tags {
		plain := archived(reg("f", tag))
		config := encode(tb, object{"os": "linux", "architecture": "amd64", "rootfs": object{"type": "layers", "diff_ids": []any{digestOf(plain)}}})
		name := string(rune('a' + n))
		list = append(list, object{"Config": name + ".json", "RepoTags": []string{tag}, "Layers": []string{name + "/layer.tar"}})
		items = append(items, reg(name+".json", string(config)), dir(name), reg(name+"/real.tar", string(plain)), sym(name+"/layer.tar", "real.tar"))
	}
	items = append(items, reg("manifest.json", string(encode(tb, list))))
	path := filepath.Join(tb.TempDir(), "saved.tar")
	if err := os.WriteFile(path, archived(items...), 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestResolveArchive(t *testing.T) {
	t.Parallel()
	path := writeArchive(t, "r.example/one:1", "r.example/two:2")
	for tag, text := range map[string]string{"r.example/two:2": "r.example/two:2", "1": "r.example/one:1"} {
		manifest, config, ids, err := resolve(t, "docker-archive:"+path+":"+tag)
		if err != nil || manifest != "" || config == "" || len(ids) != 1 || ids[0] != digestOf(archived(reg("f", text))) {
			t.Errorf("%s: %q %q %q, %v", tag, manifest, config, ids, err)
		}
	}
	_, _, _, err := resolve(t, "docker-archive:"+path)
	refuseImage(t, err, "2 images")
	if fix := fault.FixOf(err); !strings.Contains(fix, "r.example/one:1") {
		t.Errorf("the fix %q does not name the tags", fix)
	}
	_, _, _, err = resolve(t, "docker-archive:"+writeArchive(t, "only:1"))
	if err != nil {
		t.Errorf("the only image: %v", err)
	}
}

func TestResolveArchiveRefusals(t *testing.T) {
	t.Parallel()
	write := func(items ...item) string {
		path := filepath.Join(t.TempDir(), "saved.tar")
		if err := os.WriteFile(path, archived(items...), 0o644); err != nil {
			t.Fatal(err)
		}
		return "docker-archive:" + path
	}
	packed := filepath.Join(t.TempDir(), "saved.tar.gz")
	if err := os.WriteFile(packed, gzipped(archived(reg("manifest.json", "[]"))), 0o644); err != nil {
		t.Fatal(err)
	}
	list := func(text string) item { return reg("manifest.json", text) }
	for want, source := range map[string]string{
		"no image archive":             "docker-archive:" + filepath.Join(t.TempDir(), "none.tar"),
		`no member "manifest.json"`:    write(reg("f", "x")),
		"manifest.json:":               write(list("{")),
		`no member "c.json"`:           write(list(`[{"Config":"c.json"}]`)),
		"read image configuration":     write(list(`[{"Config":"c.json"}]`), reg("c.json", "[]")),
		"chain of links":               write(list(`[{"Config":"c.json"}]`), sym("c.json", "c.json")),
		`no member "../../etc/passwd"`: write(list(`[{"Config":"../../etc/passwd"}]`)),
		"is compressed as a whole":     "docker-archive:" + packed,
		"not a regular file":           "docker-archive:" + t.TempDir(),
	} {
		_, _, _, err := resolve(t, source)
		refuseImage(t, err, want)
	}
}
