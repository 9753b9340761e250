package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// BenchmarkAdd marks fresh directories and takes their marks away again. heap-B/dir is
// this process's memory; the kernel's is in /proc/slabinfo (fanotify_mark, and an
// inode for each).
func BenchmarkAdd(b *testing.B) {
	w, err := watch.New(watch.Options{MaxMarks: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	top := b.TempDir()
	for i := range b.N {
		if err := os.Mkdir(filepath.Join(top, strconv.Itoa(i)), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	each := func(f func(fd int, key uint64) error) {
		for i := range b.N {
			fd, err := unix.Open(filepath.Join(top, strconv.Itoa(i)), unix.O_PATH|unix.O_CLOEXEC, 0)
			if err == nil {
				err = f(fd, uint64(i))
				unix.Close(fd)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	each(w.Add)
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "heap-B/dir")
	each(func(fd int, key uint64) error { return w.Remove(key, fd) })
}

type discard struct{}

func (discard) Changed([]watch.Event) {}
func (discard) Overflow()             {}

// BenchmarkOwnWrite is what a write of this process costs with a mark on its
// directory, and without one.
func BenchmarkOwnWrite(b *testing.B) {
	for name, marked := range map[string]bool{"marked": true, "unmarked": false} {
		b.Run(name, func(b *testing.B) {
			w, err := watch.New(watch.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			dir, err := os.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer dir.Close()
			if marked {
				if err := w.Add(int(dir.Fd()), 1); err != nil {
					b.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(b.Context())
			ran := make(chan error)
			go func() { ran <- w.Run(ctx, discard{}) }()
			f, err := os.Create(filepath.Join(dir.Name(), "f"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			text := []byte("some text")
			for b.Loop() {
				if _, err := f.WriteAt(text, 0); err != nil {
					b.Fatal(err)
				}
			}
			cancel()
			if err := <-ran; err != nil {
				b.Fatal(err)
			}
		})
	}
}
