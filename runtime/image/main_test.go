package image_test

import (
	"os"
	"testing"

	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime/image"
)

// TestMain lets the test binary be its own worker, as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case userns.Mode:
			os.Exit(userns.Main(os.Args[2:]))
		case "__image-worker":
			os.Exit(image.WorkerMain(os.Args[2:]))
		case image.LooseWorkerMode:
			os.Exit(image.LooseWorkerMain())
		}
	}
	os.Exit(m.Run())
}
