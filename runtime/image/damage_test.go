//go:build sandbox

package image_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/image/vet"
)

func TestPrepareRefusesDamagedLayers(t *testing.T) {
	t.Parallel()
	plain := archived(reg("f", strings.Repeat("text ", 1000)), reg("g", "more"))
	good := layerOf(plain, gzipped)
	change := func(do func(*blob)) blob {
		b := good
		b.stored = append([]byte(nil), good.stored...)
		do(&b)
		return b
	}
	for want, layer := range map[string]blob{
		"stored bytes have digest":   change(func(b *blob) { b.digest = digestOf([]byte("other")) }),
		"archive has digest":         change(func(b *blob) { b.diffID = digestOf([]byte("other")) }),
		"bytes, not":                 change(func(b *blob) { b.stored = b.stored[:len(b.stored)/2] }),
		"breaks rule trailing-data":  layerOf(append(append([]byte(nil), plain...), 'x'), gzipped),
		"layer 1: ":                  layerOf(good.stored[:len(good.stored)/2], nil), // a truncated stream, truthfully named
		"layer 1: entry \"f\": ":     layerOf(plain[:700], gzipped),                  // a truncated archive, truthfully named
		"layer 1: read archive: ":    layerOf([]byte(strings.Repeat("no archive", 100)), gzipped),
		"is outside 0 to 4294967296": change(func(b *blob) { b.size = 5 << 30 }),
	} {
		o := options(t, writeImage(t, testImage{layers: []blob{layer}}))
		_, err := image.Prepare(t.Context(), o)
		if fault.KindOf(err) != fault.Image || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		leftNothing(t, o.StorageRoot)
	}
	o := options(t, writeImage(t, testImage{layers: []blob{good}}))
	if _, err := image.Prepare(t.Context(), o); err != nil {
		t.Errorf("the twin of them all: %v", err)
	}
}

func TestPrepareHoldsOwnersToTheMap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id int
		ok bool
	}{{65535, true}, {70000, accountIDs().Mode == runtime.ModeSingle}, {1 << 33, accountIDs().Mode == runtime.ModeSingle}} {
		o := options(t, writeImage(t, testImage{layers: []blob{gz(owned(reg("f", "x"), c.id))}}))
		_, err := image.Prepare(t.Context(), o)
		if c.ok != (err == nil) {
			t.Errorf("owner %d: %v", c.id, err)
		}
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("user id %d is outside the mapped range 0 to 6553", c.id)) || !strings.Contains(fault.FixOf(err), "subuid") {
			t.Errorf("owner %d: %v (fix %q)", c.id, err, fault.FixOf(err))
		}
		leftNothing(t, o.StorageRoot)
	}
}

func TestSingleIDLowers(t *testing.T) {
	t.Parallel()
	dir := writeImage(t, testImage{layers: []blob{gz(dir("etc"), dir("etc/apt"), dir("etc/apt/apt.conf.d"), owned(moded(reg("f", "x"), 0o6755), 42))}})
	o := options(t, dir)
	o.IDs = runtime.IDs{Mode: runtime.ModeSingle}
	if accountIDs().Mode == runtime.ModeRoot {
		t.Log("root maps a range: only the notice of the other modes is checked")
		lower, err := image.Prepare(t.Context(), options(t, dir))
		if err != nil || lower.Notice() != "" {
			t.Errorf("notice %q, %v", lower.Notice(), err)
		}
		return
	}
	lower, err := image.Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(lower.Notice(), "single user id") {
		t.Errorf("notice %q", lower.Notice())
	}
	info, err := os.Stat(filepath.Join(lower.Rootfs, "f"))
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("f: %v, %v", info.Mode(), err)
	}
	b, err := os.ReadFile(filepath.Join(lower.Rootfs, "etc/apt/apt.conf.d/99lazaret-single-id"))
	if err != nil || !strings.Contains(string(b), `APT::Sandbox::User "root";`) {
		t.Errorf("apt: %q, %v", b, err)
	}
	if accountIDs().Mode == runtime.ModeSubordinate { // the same image for another map is another lower
		o.IDs = accountIDs()
		other, err := image.Prepare(t.Context(), o)
		if err != nil || other.ID == lower.ID {
			t.Errorf("%s and %s, %v", lower.ID, other.ID, err)
		}
	}
}

// One of two preparers works, the other waits and finds.
func TestPrepareOnceForTwo(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{gz(reg("f", "x"))}}))
	waiting := make(chan struct{})
	unpacked := make(chan string, 2)
	one, two := o, o
	one.Progress = func(stage string, done, total int64) {
		switch {
		case stage == image.StageResolve:
			<-waiting // go on only once the other one waits
		case stage == image.StageUnpack && done == total:
			unpacked <- "one"
		}
	}
	started := make(chan struct{})
	two.Progress = func(stage string, done, total int64) {
		switch {
		case stage == image.StageWait:
			close(waiting)
		case stage == image.StageUnpack && done == total:
			unpacked <- "two"
		}
	}
	var group sync.WaitGroup
	var lowers [2]image.Lower
	var errs [2]error
	inner := one.Progress
	one.Progress = func(stage string, done, total int64) {
		if stage == image.StageResolve {
			close(started)
		}
		inner(stage, done, total)
	}
	group.Go(func() { lowers[0], errs[0] = image.Prepare(t.Context(), one) })
	group.Go(func() {
		<-started
		lowers[1], errs[1] = image.Prepare(t.Context(), two)
	})
	group.Wait()
	if errs[0] != nil || errs[1] != nil || lowers[0].ID != lowers[1].ID {
		t.Errorf("%v, %v", errs, lowers)
	}
	close(unpacked)
	var who []string
	for w := range unpacked {
		who = append(who, w)
	}
	if len(who) != 1 || who[0] != "one" {
		t.Errorf("unpacked by %q", who)
	}
}

// bulky is a layer that takes the worker long enough to be stopped in the middle.
func bulky() blob {
	r := rand.New(rand.NewSource(1))
	var items []item
	for n := range 400 {
		b := make([]byte, 100<<10)
		r.Read(b)
		items = append(items, reg(fmt.Sprintf("d/%d", n), string(b)))
	}
	return layerOf(archived(items...), nil)
}

func TestPrepareCancelled(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{bulky()}}))
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(stage string, done, _ int64) {
		if stage == image.StageUnpack && done > 0 {
			cancel()
		}
	}
	_, err := image.Prepare(ctx, o)
	if !errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Image {
		t.Errorf("%v", err)
	}
	leftNothing(t, o.StorageRoot)
	o.Progress = nil
	if _, err := image.Prepare(t.Context(), o); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A preparer that is killed takes its worker along, and the next one removes
// what it left.
func TestPreparerKilled(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{bulky()}}))
	cmd := exec.Command("/proc/self/exe", prepareMode, o.StorageRoot, string(o.Source))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 9)
	if _, err := out.Read(buf); err != nil || string(buf) != "unpacking" {
		t.Fatalf("%q, %v", buf, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	stages, err := filepath.Glob(filepath.Join(o.StorageRoot, "lowers/.staging-*"))
	if err != nil || len(stages) != 1 {
		t.Fatalf("%q, %v", stages, err)
	}
	sandboxtest.Await(t, 10*time.Second, "the worker's end", func() bool { return len(workersIn(t, stages[0])) == 0 })
	if lowers, err := image.List(o.StorageRoot); err != nil || len(lowers) != 0 {
		t.Errorf("%v, %v", lowers, err)
	}
	if _, err := image.Prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if stages, _ := filepath.Glob(filepath.Join(o.StorageRoot, "lowers/.staging-*")); len(stages) != 0 {
		t.Errorf("left behind: %q", stages)
	}
}

// workersIn returns the processes whose root directory lies in dir.
func workersIn(tb testing.TB, dir string) (pids []string) {
	tb.Helper()
	roots, err := filepath.Glob("/proc/[0-9]*/root")
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range roots {
		if target, err := os.Readlink(r); err == nil && strings.HasPrefix(target, dir) {
			pids = append(pids, r)
		}
	}
	return pids
}

// A staging directory whose maker lives is none of our business.
func TestSweepSparesTheLiving(t *testing.T) {
	t.Parallel()
	o := options(t, writeImage(t, testImage{layers: []blob{gz(reg("f", "x"))}}))
	living := filepath.Join(o.StorageRoot, "lowers/.staging-living")
	dead := filepath.Join(o.StorageRoot, "lowers/.staging-dead")
	for _, dir := range []string{living, dead} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(living)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(living); err != nil {
		t.Errorf("the living: %v", err)
	}
	if _, err := os.Lstat(dead); err == nil {
		t.Error("the dead is still there")
	}
}

func TestPrepareFromArchiveAndRegistry(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	digest := push(t, host, testImage{layers: []blob{gz(reg("f", "from a registry"))}})
	for source, text := range map[string]string{
		"docker-archive:" + writeArchive(t, "r.example/one:1"): "r.example/one:1",
		host + "/name@" + digest.String():                      "from a registry",
	} {
		o := pulling(t, source)
		o.StorageRoot, o.IDs = storage(t), accountIDs()
		lower, err := image.Prepare(t.Context(), o)
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		if b, err := os.ReadFile(filepath.Join(lower.Rootfs, "f")); err != nil || string(b) != text {
			t.Errorf("%q: %q, %v", source, b, err)
		}
	}
}

const fullVariable = "LAZARET_IMAGE_TEST_FULL"

// A file system that is full before, or gets full in the middle, leaves nothing.
// The test runs itself on a small tmpfs in a mount namespace.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := `mount -t tmpfs -o size=40m,nr_inodes=3000,mode=755 tmpfs "$0" && exec "$1" -test.run '^TestOnFullDisk$' -test.v`
	args := []string{"--mount", "--map-root-user", "sh", "-c", script, dir, "/proc/self/exe"}
	if os.Getuid() == 0 {
		args = append(args[:1], args[2:]...)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args[len(args)-1] = self
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), fullVariable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestOnFullDisk") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOnFullDisk(t *testing.T) {
	root := os.Getenv(fullVariable)
	if root == "" {
		return // run by TestDiskFull
	}
	ids := runtime.IDs{Mode: runtime.ModeSingle} // all that the namespace this runs in has
	limits := vet.DefaultLimits()
	limits.Free = vet.Room{Bytes: 4096, Inodes: 10}
	var many []item
	for n := range 4000 {
		many = append(many, reg(fmt.Sprint("n/", n), ""))
	}
	for name, layer := range map[string]blob{
		"seen before":      bulky(),                                                      // 40 MB that do not compress
		"seen while":       gz(reg("a", ""), reg("zeros", string(make([]byte, 60<<20)))), // compresses to nearly nothing
		"out of inodes":    layerOf(archived(many...), gzipped),
		"harmless control": gz(reg("a", "small")),
	} {
		o := image.Options{StorageRoot: root, Source: image.Source("oci:" + writeImage(t, testImage{layers: []blob{layer}})), IDs: ids, Limits: limits}
		_, err := image.Prepare(t.Context(), o)
		if name == "harmless control" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if fault.KindOf(err) != fault.Image || !strings.Contains(err.Error(), "not enough free space") || !strings.Contains(fault.FixOf(err), "data_root") {
			t.Errorf("%s: %v", name, err)
		}
		if stages, _ := filepath.Glob(filepath.Join(root, "lowers/.staging-*")); len(stages) != 0 {
			t.Errorf("%s: left behind %q", name, stages)
		}
		t.Logf("%s: %v", name, err)
	}
	if lowers, err := image.List(root); err != nil || len(lowers) != 1 {
		t.Errorf("%v, %v", lowers, err)
	}
}
