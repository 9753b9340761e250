//go:build sandbox

package freshness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// The whole way from a change by another process, and the way back when the watch ends.
func TestFromTheHostToThePoke(t *testing.T) {
	t.Parallel()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w := &world{dirs: map[uint64]string{7: "sub"}}
	f := New(w.config())
	if err := f.OnDirectory(7, "sub", int(dir.Fd())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx, w); close(ended) }()
	if err := os.WriteFile(filepath.Join(dir.Name(), "own"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	change := exec.Command("sh", "-ec", "mkdir made; echo x >.gitignore")
	change.Dir = dir.Name()
	if err := change.Run(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"changed 7 made", "rule sub/.gitignore new", "changed 7 .gitignore", "all", "poke sub/made", "poke sub/.gitignore", "poke sub"} {
		sandboxtest.Await(t, 10*time.Second, want, func() bool { return slices.Contains(w.heard(), want) })
	}
	if got := w.heard(); slices.Contains(got, "changed 7 own") {
		t.Errorf("told of its own change: %q", got)
	}
	f.OnForget(7, int(dir.Fd()))
	if keys := f.current().Keys(); len(keys) != 0 {
		t.Errorf("still watched: %v", keys)
	}
	cancel()
	<-ended
	if err := f.OnDirectory(8, "", int(dir.Fd())); err == nil {
		t.Error("a directory was taken after the end")
	}
}

func TestOverflowReadsTheRulesAgain(t *testing.T) {
	t.Parallel()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w := &world{dirs: map[uint64]string{7: "sub"}}
	f := New(w.config())
	defer f.current().Close()
	if err := f.OnDirectory(7, "sub", int(dir.Fd())); err != nil {
		t.Fatal(err)
	}
	var s watch.Sink = newSink(f, w)
	s.Overflow()
	if got, want := w.heard(), []string{"rule sub/.gitignore new", "all"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
