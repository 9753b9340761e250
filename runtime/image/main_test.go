package image_test

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
)

// prepareMode makes the test binary a preparer of its own, to be killed: it
// prepares a source in a Storage Root and says "unpacking" once it does.
const prepareMode = "__test-prepare"

func prepareMain(args []string) int {
	_, err := image.Prepare(context.Background(), image.Options{
		StorageRoot: args[0], Source: image.Source(args[1]), IDs: accountIDs(),
		Progress: func(stage string, done, _ int64) {
			if stage == image.StageUnpack && done > 0 {
				fmt.Println("unpacking")
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// accountIDs is the id map this account gets: a high range as root, the
// subordinate range it has, or its single id.
func accountIDs() runtime.IDs {
	if os.Getuid() == 0 {
		const base, count = 1 << 30, 65536
		r := runtime.IDRange{Host: base, Count: count}
		return runtime.IDs{Mode: runtime.ModeRoot, UIDs: r, GIDs: r}
	}
	uids, gids := ownRange("/etc/subuid"), ownRange("/etc/subgid")
	if uids.Count == 0 || gids.Count == 0 {
		return runtime.IDs{Mode: runtime.ModeSingle}
	}
	return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: uids, GIDs: gids}
}

func ownRange(path string) (r runtime.IDRange) {
	me, err := user.Current()
	if err != nil {
		return r
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return r
	}
	for line := range strings.Lines(string(text)) {
		var host, count uint32
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), me.Username+":")
		if n, _ := fmt.Sscanf(rest, "%d:%d", &host, &count); ok && n == 2 {
			return runtime.IDRange{Host: host, Count: count}
		}
	}
	return r
}

// TestMain lets the test binary be its own worker, as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__image-worker":
			os.Exit(image.WorkerMain(os.Args[2:]))
		case image.LooseWorkerMode:
			os.Exit(image.LooseWorkerMain())
		case prepareMode:
			os.Exit(prepareMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}
