package route_test

import (
	"fmt"
	"runtime"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
)

// TestRuleFilesOfTheSandboxTakeLittleMemory makes many large ones, which cost it no
// disk: they may be all holes.
func TestRuleFilesOfTheSandboxTakeLittleMemory(t *testing.T) {
	w := newWorld(t, usual, repository())
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	const files = 1000
	for i := range files {
		// What is too large is said so; it hides what is made beside it.
		_, _ = w.policy.GuestChanged(fmt.Sprintf("src/%d/.gitignore", i), func(int64) ([]byte, error) { return make([]byte, ignore.MaxFile-i), nil })
	}
	if taken := int64(heap()) - int64(before); taken > 2*ignore.MaxTotal {
		t.Errorf("%d MiB for %d files", taken>>20, files)
	}
	runtime.KeepAlive(w)
}
