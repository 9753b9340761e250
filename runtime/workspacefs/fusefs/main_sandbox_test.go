//go:build sandbox

package fusefs_test

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime"
)

// insideVariable says that this process has a mount namespace of its own.
const insideVariable = "LAZARET_TEST_INSIDE"

// TestMain runs the tests in a mount namespace of their own: as root without more, as
// anybody else in a user namespace too, as the daemon's is.
func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) == "" {
		os.Exit(outside())
	}
	if os.Getenv(insideVariable) == "userns" {
		if err := userns.Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		fmt.Fprintln(os.Stderr, "make mounts private:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func outside() int {
	spec := proc.Spec{Path: proc.Self(), Args: os.Args, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Env: append(os.Environ(), insideVariable+"=mountns"), Cloneflags: unix.CLONE_NEWNS}
	start := proc.Start
	if os.Getuid() != 0 {
		spec.Env[len(spec.Env)-1] = insideVariable + "=userns"
		start = func(spec proc.Spec) (*proc.Process, error) { return userns.Start(spec, ids()) }
	}
	p, err := start(spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-p.Done()
	return p.Exit().Status()
}

// ids are the maps this account gets: its subordinate ids, or only its own.
func ids() runtime.IDs {
	u, err := user.Current()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile("/etc/subuid")
	if err != nil {
		return runtime.IDs{Mode: runtime.ModeSingle}
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 || f[0] != u.Username {
			continue
		}
		first, err1 := strconv.ParseUint(f[1], 10, 32)
		count, err2 := strconv.ParseUint(f[2], 10, 32)
		if err1 == nil && err2 == nil {
			r := runtime.IDRange{Host: uint32(first), Count: uint32(count)}
			return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: r, GIDs: r}
		}
	}
	return runtime.IDs{Mode: runtime.ModeSingle}
}
