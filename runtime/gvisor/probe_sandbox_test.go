//go:build sandbox

package gvisor_test

import (
	"testing"

	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/runtime/gvisor"
)

func TestProbeAcceptsTheBuiltOne(t *testing.T) {
	t.Parallel()
	version, err := gvisor.Probe(t.Context(), sandboxtest.Bin(t, "runsc"))
	if err != nil || version == "" {
		t.Errorf("%q, %v", version, err)
	}
}
