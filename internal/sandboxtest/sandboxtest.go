package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The variables `make test` sets.
const (
	binVariable    = "LAZARET_TEST_BIN"
	layoutVariable = "LAZARET_TEST_LAYOUT"
)

// Bin returns the path of a built program: lazaret, lazaret-escalate or runsc.
func Bin(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(required(tb, binVariable), name)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%s does not hold %s: run `make test`, or `make build` and set it to bin", binVariable, name)
	}
	return path
}

// Layout returns the OCI layout of the default image.
func Layout(tb testing.TB) string {
	tb.Helper()
	return required(tb, layoutVariable)
}

// Source returns the layout as an image source, for configuration files.
func Source(tb testing.TB) string { return "oci:" + Layout(tb) }

func required(tb testing.TB, name string) string {
	tb.Helper()
	value := os.Getenv(name)
	if value == "" {
		tb.Fatalf("%s is not set: the sandbox suites run through `make test`", name)
	}
	return value
}

// Cache returns a folder of the current account that outlives the test, for what
// is slow to make and the same every time: an unpacked image.
func Cache(tb testing.TB) string {
	tb.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(base, "lazaret-test")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Await polls ok until it holds, for things only the kernel or another process
// can tell. It fails the test with what after the deadline.
func Await(tb testing.TB, deadline time.Duration, what string, ok func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), deadline)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			tb.Fatalf("still waiting after %v: %s", deadline, what)
		case <-tick.C:
		}
	}
}
