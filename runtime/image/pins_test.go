//go:build sandbox

package image_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/image"
)

func TestPinsRecordsAndLeases(t *testing.T) {
	t.Parallel()
	dir := writeImage(t, testImage{tag: "a", layers: []blob{gz(reg("f", "x"))}})
	o := options(t, dir)
	if _, ok, err := image.Find(o.StorageRoot, o.Source, o.IDs); ok || err != nil {
		t.Fatalf("before: %v, %v", ok, err)
	}
	lower, err := image.Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Another name of the same content: the same lower.
	tagged := o
	tagged.Source += ":a"
	if again, err := image.Prepare(t.Context(), tagged); err != nil || again.ID != lower.ID || again.Source != string(tagged.Source) {
		t.Errorf("%+v, %v", again, err)
	}
	if lowers, err := image.List(o.StorageRoot); err != nil || len(lowers) != 1 || lowers[0].ID != lower.ID {
		t.Errorf("list: %v, %v", lowers, err)
	}
	// The pin needs no source, and is not moved without being asked to.
	if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	if found, err := image.Prepare(t.Context(), o); err != nil || found.ID != lower.ID {
		t.Errorf("pinned: %v, %v", found.ID, err)
	}
	refresh := o
	refresh.Refresh = true
	if _, err := image.Prepare(t.Context(), refresh); fault.KindOf(err) != fault.Image {
		t.Errorf("refreshed without a source: %v", err)
	}
	if _, ok, _ := image.Find(o.StorageRoot, o.Source, o.IDs); !ok {
		t.Error("a failed refresh took the pin away")
	}
	leases(t, lower)
}

func leases(t *testing.T, lower image.Lower) {
	t.Helper()
	one, err := image.Lease(lower)
	if err != nil {
		t.Fatal(err)
	}
	two, err := image.Lease(lower)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(filepath.Dir(lower.Rootfs), "record"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	one.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a leased image could be locked: %v", err)
	}
	two.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("an image without leases: %v", err)
	}
	if _, err := image.Lease(lower); err == nil {
		t.Error("an image being reclaimed was leased")
	}
}

// A lower whose record was damaged is never found, and is replaced.
func TestDamagedRecordIsReplaced(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{gz(reg("f", "x"))}}))
	lower, err := image.Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(filepath.Dir(lower.Rootfs), "record")
	for _, text := range []string{"", "damaged"} {
		if err := os.WriteFile(record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := image.Find(o.StorageRoot, o.Source, o.IDs); ok || err != nil {
			t.Errorf("found with a damaged record: %v", err)
		}
		if again, err := image.Prepare(t.Context(), o); err != nil || again.ID != lower.ID {
			t.Fatalf("%v, %v", again.ID, err)
		}
	}
}

// A tag that moved is followed when that is asked for, and only then.
func TestRefreshFollowsATag(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tag := func(text string) {
		desc := testImage{tag: "t", layers: []blob{gz(reg("f", text))}}.write(t, root)
		put(t, root, "index.json", encode(t, object{"manifests": []any{desc}}))
	}
	tag("one")
	o := options(t, root)
	text := func() string {
		lower, err := image.Prepare(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(lower.Rootfs, "f"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := text()
	tag("two")
	pinned := text()
	o.Refresh = true
	refreshed := text()
	o.Refresh = false
	if after := text(); first != "one" || pinned != "one" || refreshed != "two" || after != "two" {
		t.Errorf("%q, then pinned %q, refreshed %q, then %q", first, pinned, refreshed, after)
	}
	if lowers, err := image.List(o.StorageRoot); err != nil || len(lowers) != 2 {
		t.Errorf("%d images, %v", len(lowers), err)
	}
}
