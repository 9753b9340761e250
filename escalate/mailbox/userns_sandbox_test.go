//go:build sandbox

package mailbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/mailbox"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

const firstMapped = 7_000_000 // of the namespace's ids; any unprivileged range will do

// foreignTmpfs mounts a tmpfs inside a user namespace of unprivileged ids, as a
// generation started by root has it, and returns its directory.
func foreignTmpfs(t *testing.T) *os.File {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test is about Lazaret started by root: run it as root")
	}
	const where = "/mnt" // any directory: only the namespace sees the mount
	ctx, cancel := context.WithCancel(context.Background())
	script := fmt.Sprintf("mount -t tmpfs -o mode=755 none %s && echo ready && exec cat", where)
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: firstMapped, Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: ids, GidMappings: ids,
		GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{},
	}
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hold.Close()
		_ = cmd.Wait()
		cancel()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the namespace said %q, %v", line, err)
	}
	dir, err := os.Open(filepath.Join("/proc", fmt.Sprint(cmd.Process.Pid), "root", where))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func TestResultsInAForeignNamespace(t *testing.T) {
	t.Parallel()
	dir := foreignTmpfs(t)
	id := domain.NewRequestID()
	name := wire.ResultName(id)
	if err := (&mailbox.Outbox{Dir: dir}).Put(id, name, []byte("x")); !errors.Is(err, unix.EOVERFLOW) {
		t.Errorf("as the host's root: %v, want EOVERFLOW", err)
	}
	out := &mailbox.Outbox{Dir: dir, WriteAs: &mailbox.Owner{UID: firstMapped, GID: firstMapped}}
	if err := out.Put(id, name, []byte("x")); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, 0); err != nil || st.Uid != firstMapped || st.Gid != firstMapped {
		t.Errorf("owner is %d:%d, %v", st.Uid, st.Gid, err)
	}
	out.Remove(name)
	if names, err := dir.Readdirnames(-1); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestRequestsFromAForeignNamespace(t *testing.T) {
	t.Parallel()
	dir := foreignTmpfs(t)
	// An entry of a guest user, written as the guest's own kernel side would.
	id := domain.NewRequestID()
	guest := &mailbox.Outbox{Dir: dir, WriteAs: &mailbox.Owner{UID: firstMapped, GID: firstMapped}}
	entries := make(chan mailbox.Entry, 1)
	in := &mailbox.Inbox{
		Dir: dir, Deliver: func(e mailbox.Entry) { entries <- e },
		Owner: func(uid uint32) bool { return uid >= firstMapped && uid < firstMapped+65536 },
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	if err := guest.Put(id, wire.RequestName(id), []byte("asked")); err != nil {
		t.Fatal(err)
	}
	if e := <-entries; e.Request != id || string(e.Data) != "asked" {
		t.Errorf("got %+v", e)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
