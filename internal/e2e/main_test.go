//go:build sandbox

package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == modelMode {
		fmt.Fprintln(os.Stderr, serveModel())
		os.Exit(1)
	}
	if err := e2e.Adopt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
