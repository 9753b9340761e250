//go:build sandbox

package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/host"
)

// A host that runs the sandbox tests has to pass its own examination.
func TestThisHostIsReady(t *testing.T) {
	t.Parallel()
	storage := filepath.Join(t.TempDir(), "storage")
	runsc := filepath.Join(os.Getenv("LAZARET_TEST_BIN"), "runsc")
	o := host.Options{StorageRoot: storage, RuntimeDir: t.TempDir(), Runsc: runsc}
	checks := host.Run(t.Context(), o)
	if len(checks) != 13 {
		t.Errorf("%d checks", len(checks))
	}
	for _, c := range checks {
		t.Logf("%-4s %-18s %s", c.Status, c.Name, c.Detail)
		if c.Status == host.Fail {
			t.Errorf("%s fails: %s; fix: %s", c.Name, c.Detail, c.Fix)
		}
	}
	if err := host.Needed(t.Context(), o); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(storage), ".lazaret-doctor-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	ids, notice, err := host.DetectIDs(storage)
	if err != nil {
		t.Fatal(err)
	}
	if (ids.Mode == runtime.ModeSingle) != (notice != "") || (ids.Mode == runtime.ModeRoot) != (os.Getuid() == 0) {
		t.Errorf("ids %+v, notice %q", ids, notice)
	}
}

// A user namespace has a limit of its own on those below it: with 0 the host is one
// that forbids them, and the check says so with the setting to change.
func TestForbiddenUserNamespaces(t *testing.T) {
	const inside = "HOST_TEST_INSIDE"
	const limit = "/proc/sys/user/max_user_namespaces"
	if os.Getenv(inside) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			Pdeathsig:   unix.SIGKILL,
		}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("inside: %v\n%s", err, out)
		}
		return
	}
	if err := os.WriteFile(limit, []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	expect(t, host.UserNamespaces(t.Context()), host.Fail, "user.max_user_namespaces is 0", "user.max_user_namespaces = 15000")
}

func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"silent": "#!/bin/sh\nexit 0\n",
		"old":    "#!/bin/sh\necho runsc version old\n",
		"broken": "#!/bin/sh\nexit 3\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		expect(t, host.Runsc(t.Context(), host.Options{Runsc: path}), host.Fail, path)
	}
	expect(t, host.Slirp4netns(t.Context()), host.OK, "version")
}
