package vet_test

import (
	"archive/tar"
	"path"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/image/vet"
)

// FuzzEntry holds every accepted header to what the package promises.
func FuzzEntry(f *testing.F) {
	seeds := 0
	for _, c := range refusals() {
		for _, h := range []*tar.Header{c.bad, c.twin} {
			f.Add(h.Name, h.Linkname, h.Typeflag, h.Size, h.Uid, h.Gid, h.Mode)
			seeds++
		}
	}
	if seeds == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, name, link string, kind byte, size int64, uid, gid int, mode int64) {
		h := &tar.Header{Name: name, Linkname: link, Typeflag: kind, Size: size, Uid: uid, Gid: gid, Mode: mode}
		entry, err := vet.New(vet.DefaultLimits(), subordinate).Entry(h)
		if err != nil || entry.Action == vet.Skip {
			return
		}
		promises(t, h, entry)
		again, err := vet.New(vet.DefaultLimits(), subordinate).Entry(h)
		if err != nil || strings.Join(again.Parts, "/") != strings.Join(entry.Parts, "/") {
			t.Fatalf("accepted %q is not accepted again: %v", name, err)
		}
	})
}

func promises(t *testing.T, h *tar.Header, entry vet.Entry) {
	t.Helper()
	if h.Name != path.Clean(h.Name) || strings.HasPrefix(h.Name, "/") || h.Name == ".." || strings.HasPrefix(h.Name, "../") {
		t.Fatalf("name %q leaves the root", h.Name)
	}
	if len(entry.Parts) == 0 && h.Typeflag != tar.TypeDir {
		t.Fatalf("the root has type %q", h.Typeflag)
	}
	base := path.Base(h.Name)
	if rest, is := strings.CutPrefix(base, ".wh."); is != entry.Whiteout || (is && base != ".wh..wh..opq" && (rest == "" || rest == "." || rest == ".." || strings.HasPrefix(rest, ".wh."))) {
		t.Fatalf("whiteout %q", h.Name)
	}
	if h.Uid < 0 || h.Uid > 65536 || h.Gid < 0 || h.Gid > 65536 || h.Mode&^0o7777 != 0 {
		t.Fatalf("owner %d:%d mode %o", h.Uid, h.Gid, h.Mode)
	}
	if h.Typeflag == tar.TypeLink && (h.Linkname != path.Clean(h.Linkname) || strings.HasPrefix(h.Linkname, "/") || strings.HasPrefix(h.Linkname, "..") && (len(h.Linkname) == 2 || h.Linkname[2] == '/')) {
		t.Fatalf("hard link target %q leaves the root", h.Linkname)
	}
	if strings.IndexByte(h.Name+h.Linkname, 0) >= 0 {
		t.Fatalf("NUL in %q or %q", h.Name, h.Linkname)
	}
}
