//go:build sandbox

package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/image/vet"
)

// storage is a Storage Root whose trees of mapped owners are removed afterwards.
func storage(tb testing.TB) string {
	tb.Helper()
	root, err := os.MkdirTemp("", "lazaret-image-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := image.Discard(root, accountIDs()); err != nil {
			tb.Errorf("clean up: %v", err)
		}
	})
	return root
}

func options(tb testing.TB, dir string) image.Options {
	tb.Helper()
	return image.Options{StorageRoot: storage(tb), Source: image.Source("oci:" + dir), IDs: accountIDs()}
}

// leftNothing checks that a failed preparation is not to be seen.
func leftNothing(tb testing.TB, root string) {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "lowers"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".index" && e.Name() != ".locks" {
			tb.Errorf("left behind: lowers/%s", e.Name())
		}
	}
	if pins, _ := os.ReadDir(filepath.Join(root, "lowers/.index")); len(pins) != 0 {
		tb.Errorf("left behind: %d index entries", len(pins))
	}
}

// listing describes a tree: per path its type, mode, owner, links, size and
// content. owner turns host ids into the guest's.
func listing(tb testing.TB, root string, owner func(*syscall.Stat_t) string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		rel, _ := filepath.Rel(root, path)
		what := fmt.Sprintf("%v %s", info.Mode(), owner(st))
		if !info.IsDir() { // tar and the extractor differ on parents they only pass through
			what += fmt.Sprintf(" mtime=%d", info.ModTime().Unix())
		}
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" links=%d %x", st.Nlink, sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			what += " -> " + target
		}
		out[rel] = what
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func compare(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	var paths []string
	for p := range got {
		paths = append(paths, p)
	}
	for p := range want {
		if _, ok := got[p]; !ok {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	for _, p := range paths {
		if got[p] != want[p] {
			tb.Errorf("%s\n  got  %s\n  want %s", p, got[p], want[p])
		}
	}
}

// layered is an image of three layers that use every kind of change.
func layered() [][]item {
	return [][]item{
		{
			dir("./"), dir("usr/"), dir("usr/lib/"), dir("etc/"), dir("gone/"), dir("opaque/"), dir("kept/"), dir("todir/"),
			sym("lib", "usr/lib"), sym("abs", "/usr/lib"), reg("etc/plain", "one"), reg("gone/inner", "x"), reg("opaque/old", "x"),
			reg("opaque/also", "x"), reg("kept/a", "a"), reg("kept/b", "b"), reg("tofile", "x"), reg("todir/x", "x"),
			hard("kept/link", "kept/a"), hard("lib/through", "etc/plain"), sym("dangling", "/no/such"), reg("will/imply/parents", "y"),
			moded(reg("setuid", "s"), 0o4755), moded(dir("sticky"), 0o1777), {name: "fifo", kind: tar.TypeFifo, mode: 0o600},
			owned(moded(reg("etc/owned", "o"), 0o644), 42), {name: "pax", kind: tar.TypeXGlobalHeader},
		},
		{
			reg(".wh.gone", ""), reg("opaque/.wh..wh..opq", ""), reg("opaque/new", "n"), reg("kept/.wh.b", ""), reg("lib/f", "through a link"),
			dir("tofile"), reg("tofile/now", "a directory"), reg("todir", "now a file"), reg("etc/plain", "two"), sym("setuid", "kept/a"),
		},
		{reg("gone", "back as a file"), reg("kept/b", "again"), reg("abs/g", "through an absolute link"), dir("lib"), reg("lib/real", "a directory now")},
	}
}

func TestPrepareEqualsReference(t *testing.T) {
	t.Parallel()
	layers := layered()
	var blobs []blob
	for i, l := range layers {
		blobs = append(blobs, layerOf(archived(l...), []func([]byte) []byte{gzipped, zstded, nil}[i]))
	}
	o := options(t, writeImage(t, testImage{layers: blobs, env: []string{"A=b"}}))
	lower, err := image.Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(lower.Env) != 1 || lower.Env[0] != "A=b" || lower.Mode != o.IDs.Mode {
		t.Errorf("%+v", lower)
	}
	compare(t, listing(t, lower.Rootfs, guestOwner(o.IDs)), reference(t, layers, o.IDs))
}

func guestOwner(ids runtime.IDs) func(*syscall.Stat_t) string {
	guest := func(host, self uint32, r runtime.IDRange) uint32 {
		switch {
		case ids.Mode == runtime.ModeRoot:
			return host - r.Host
		case host == self:
			return 0
		default:
			return host - r.Host + 1
		}
	}
	return func(st *syscall.Stat_t) string {
		return fmt.Sprint(guest(st.Uid, uint32(os.Getuid()), ids.UIDs), ":", guest(st.Gid, uint32(os.Getgid()), ids.GIDs))
	}
}

// reference applies layers with GNU tar, whiteouts by hand. Owners are put in
// where this account cannot give them.
func reference(tb testing.TB, layers [][]item, ids runtime.IDs) map[string]string {
	tb.Helper()
	root := tb.TempDir()
	for _, layer := range layers {
		layer = slices.Clone(layer)
		for n, i := range layer {
			// GNU tar would follow an absolute link out of the tree.
			layer[n].name = strings.Replace(i.name, "abs/", "usr/lib/", 1)
			dir, base := filepath.Split(i.name)
			target, is := strings.CutPrefix(base, ".wh.")
			switch {
			case is && base == ".wh..wh..opq":
				entries, _ := os.ReadDir(filepath.Join(root, dir))
				for _, e := range entries {
					os.RemoveAll(filepath.Join(root, dir, e.Name()))
				}
			case is:
				os.RemoveAll(filepath.Join(root, dir, target))
			}
		}
		cmd := exec.Command("tar", "-x", "-p", "--numeric-owner", "--recursive-unlink", "--exclude=.wh.*", "-C", root)
		cmd.Stdin = bytes.NewReader(archived(layer...))
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("tar: %v\n%s", err, out)
		}
	}
	want := listing(tb, root, func(st *syscall.Stat_t) string {
		if ids.Mode == runtime.ModeRoot {
			return fmt.Sprint(st.Uid, ":", st.Gid)
		}
		return "0:0" // this account can give nothing away
	})
	if ids.Mode == runtime.ModeSubordinate {
		want["etc/owned"] = strings.Replace(want["etc/owned"], "0:0", "42:42", 1)
	}
	return want
}

func TestPrepareKeepsAttributes(t *testing.T) {
	t.Parallel()
	// A version 2 file capability: effective, cap_net_raw permitted.
	capability := "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	f := reg("f", "x")
	f.xattrs = map[string]string{"user.kept": "yes", "trusted.overlay.opaque": "y", "user.overlay.opaque": "y", "security.capability": capability}
	o := options(t, writeImage(t, testImage{layers: []blob{gz(f)}}))
	lower, err := image.Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := unix.Llistxattr(filepath.Join(lower.Rootfs, "f"), buf)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	sort.Strings(names)
	if strings.Join(names, " ") != "security.capability user.kept" {
		t.Errorf("attributes: %q", names)
	}
}

func TestPrepareLeavesDevicesOut(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{gz(dir("srv"), device("srv/sda"), device("dev/sdb"), reg("srv/f", "x"))}}))
	lower, err := image.Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"srv/sda", "dev/sdb"} {
		if _, err := os.Lstat(filepath.Join(lower.Rootfs, node)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("device node %s: %v", node, err)
		}
	}
	if len(lower.Notes) != 1 || !strings.Contains(lower.Notes[0], "srv/sda") {
		t.Errorf("notes: %q", lower.Notes)
	}
}

// leaving are layers with an entry that would leave the root, or empty it, with
// the nearest layer that does not.
func leaving(outside string) []struct {
	rule      vet.Rule
	bad, twin []item
} {
	return []struct {
		rule      vet.Rule
		bad, twin []item
	}{
		{vet.RuleNameAbsolute, []item{reg(outside, "evil")}, []item{reg("f", "fine")}},
		{vet.RuleNameDotDot, []item{reg("../canary", "evil")}, []item{reg("..canary", "fine")}},
		{vet.RuleNameDotDot, []item{reg("a/../../canary", "evil")}, []item{reg("a/..canary", "fine")}},
		{vet.RuleParent, []item{sym("l", ".."), reg("l/canary", "evil")}, []item{dir("d"), sym("l", "d"), reg("l/canary", "fine")}},
		{vet.RuleParent, []item{sym("l", filepath.Dir(outside)), reg("l/canary", "evil")}, []item{dir("d"), sym("l", "/d"), reg("l/canary", "fine")}},
		{vet.RuleParent, []item{dir("d"), sym("d/l", "../../x"), reg("d/l/canary", "evil")}, []item{dir("d"), dir("x"), sym("d/l", "../x"), reg("d/l/canary", "fine")}},
		{vet.RuleParent, []item{sym("a", "b"), sym("b", "a"), reg("a/f", "evil")}, []item{dir("b"), sym("a", "b"), reg("a/f", "fine")}},
		{vet.RuleLinkTarget, []item{hard("l", outside)}, []item{reg("f", ""), hard("l", "f")}},
		{vet.RuleLinkTarget, []item{hard("l", "../canary")}, []item{reg("f", ""), hard("l", "./f")}},
		{vet.RuleParent, []item{sym("s", ".."), hard("l", "s/canary")}, []item{dir("d"), sym("s", "d"), reg("d/f", ""), hard("l", "s/f")}},
		{vet.RuleLinkTarget, []item{hard("l", "later"), reg("later", "")}, []item{reg("later", ""), hard("l", "later")}},
		{vet.RuleParent, []item{sym("s", ".."), reg("s/.wh.canary", "")}, []item{dir("d"), sym("s", "d"), reg("d/f", ""), reg("s/.wh.f", "")}},
		{vet.RuleWhiteoutName, []item{reg(".wh...", "")}, []item{reg(".wh....", "")}},
		{vet.RuleWhiteoutName, []item{dir("d"), reg("d/.wh...", "")}, []item{dir("d"), reg("d/.wh..a", "")}},
		{vet.RuleWhiteoutName, []item{dir("d"), reg("d/.wh..", "")}, []item{dir("d"), reg("d/.wh.a", "")}},
		{vet.RuleWhiteoutName, []item{reg("f", ""), reg(".wh.", "")}, []item{reg("f", ""), reg(".wh.g", "")}},
		{vet.RuleRootType, []item{sym(".", "/tmp")}, []item{dir(".")}},
	}
}

func TestPrepareRefusesEntriesThatLeaveTheRoot(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "canary")
	put(t, filepath.Dir(outside), "canary", []byte("alive"))
	for _, c := range leaving(outside) {
		o := options(t, writeImage(t, testImage{layers: []blob{gz(c.bad...)}}))
		_, err := image.Prepare(t.Context(), o)
		if fault.KindOf(err) != fault.Image || !strings.Contains(err.Error(), "breaks rule "+string(c.rule)) || fault.FixOf(err) == "" {
			t.Errorf("%q: %v, want rule %s", c.bad[len(c.bad)-1].name, err, c.rule)
		}
		leftNothing(t, o.StorageRoot)
		o = options(t, writeImage(t, testImage{layers: []blob{gz(c.twin...)}}))
		if _, err := image.Prepare(t.Context(), o); err != nil {
			t.Errorf("the twin %q: %v", c.twin[len(c.twin)-1].name, err)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "alive" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
}

// The order of layers matters too: the link may come with one, the entry with the
// next.
func TestPrepareRefusesLinkParentsAcrossLayers(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{gz(sym("l", "../..")), gz(reg("l/canary", "evil"))}}))
	_, err := image.Prepare(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "layer 2") || !strings.Contains(err.Error(), string(vet.RuleParent)) {
		t.Errorf("%v", err)
	}
	leftNothing(t, o.StorageRoot)
}

// Without the vetting, a worker that has either of its two confinements left
// still touches nothing beside its root directory.
func TestConfinementHoldsWithoutVetting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ noChroot, noLandlock bool }{
		"chroot alone":   {false, true},
		"Landlock alone": {true, false},
		"both":           {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := filepath.Join(t.TempDir(), "canary")
			put(t, filepath.Dir(outside), "canary", []byte("alive"))
			for _, e := range leaving(outside) {
				confined(t, c.noChroot, c.noLandlock, outside, e.bad)
			}
		})
	}
}

// confined applies one bad layer beside canaries and looks at them afterwards.
func confined(t *testing.T, noChroot, noLandlock bool, outside string, bad []item) {
	t.Helper()
	name := bad[len(bad)-1].name
	dir := t.TempDir()
	rootfs := filepath.Join(dir, "rootfs")
	if err := os.Mkdir(rootfs, 0o755); err != nil {
		t.Fatal(err)
	}
	if ids := accountIDs(); ids.Mode == runtime.ModeRoot {
		// The directory above belongs to guest root as well: only the confinement
		// may be what protects it.
		for _, path := range []string{dir, rootfs, filepath.Dir(outside), outside} {
			if err := os.Chown(path, int(ids.UIDs.Host), int(ids.GIDs.Host)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(t, dir, "canary", []byte("alive"))
	plain := archived(bad...)
	put(t, dir, "layer", plain)
	f, err := os.Open(filepath.Join(dir, "layer"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := image.Loosen(image.Options{IDs: accountIDs()}, true, noChroot, noLandlock)
	err = image.RunWorker(t.Context(), o, rootfs, []*os.File{f}, []string{digestOf(plain)})
	if err != nil && (strings.Contains(err.Error(), "breaks rule") || strings.Contains(err.Error(), "confine")) {
		t.Errorf("%q: the layer did not reach the extractor: %v", name, err)
	}
	for _, path := range []string{filepath.Join(dir, "canary"), outside} {
		if b, err := os.ReadFile(path); err != nil || string(b) != "alive" {
			t.Errorf("%q: canary %q: %q, %v", name, path, b, err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil || st.Nlink != 1 {
			t.Errorf("%q: canary %q has %d links, %v", name, path, st.Nlink, err)
		}
	}
	if err := image.Empty(t.Context(), image.Options{IDs: accountIDs()}, rootfs); err != nil {
		t.Errorf("clean up: %v", err)
	}
}

// The switches of the test above do nothing to the worker that is shipped.
func TestOrdinaryWorkerHasNoSwitches(t *testing.T) {
	t.Parallel()
	o := image.WithSwitches(options(t, writeImage(t, testImage{layers: []blob{gz(reg("../canary", "evil"))}})))
	_, err := image.Prepare(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), string(vet.RuleNameDotDot)) {
		t.Errorf("%v", err)
	}
}
