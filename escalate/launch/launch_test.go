package launch_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/launch"
	"lazaret.dev/lazaret/escalate/policy"
)

// What started the tests may have handed descriptors down; a coordinator marks
// what it inherits in the same way when it starts.
func TestMain(m *testing.M) {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, dir string, argv ...string) *launch.Run {
	t.Helper()
	p, err := policy.New(policy.Config{Workspace: dir, WorkspaceGuest: "/workspace", Environ: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	plan, err := p.Judge(argv, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plan.Close)
	bound, err := plan.Bind()
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	run, err := launch.Start(bound, argv, plan.Dir, []string{"PATH=/usr/bin:/bin", "A=b", "LAZARET_CAPABILITY=x", "PWD=/elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Kill()
		run.Stdout.Close()
		run.Stderr.Close()
	})
	return run
}

// output reads both streams and waits for the end.
func output(t *testing.T, run *launch.Run) (stdout, stderr string, status int) {
	t.Helper()
	var errs bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&errs, run.Stderr)
	}()
	out, err := io.ReadAll(run.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	<-run.Done()
	return string(out), errs.String(), run.Exit().Status()
}

func TestArgumentsAreNotInterpreted(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	stdout, stderr, status := output(t, start(t, dir, "printf", "%s|", "$HOME", "`id`", "*", "a;b", ""))
	if stdout != "$HOME|`id`|*|a;b||" || stderr != "" || status != 0 {
		t.Errorf("got %q, %q, %d", stdout, stderr, status)
	}
}

func TestSurroundings(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	stdout, _, _ := output(t, start(t, dir, "env"))
	if stdout != "PATH=/usr/bin:/bin\nA=b\nPWD="+dir+"\n" {
		t.Errorf("environment is %q", stdout)
	}
	stdout, stderr, status := output(t, start(t, dir, "sh", "-c",
		`pwd -P; readlink /proc/self/fd/0; ls /proc/$$/fd | tr '\n' ' '; ps -o sid= -p $$ | tr -d ' '; echo $$; true </dev/tty; exit 7`))
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 4 || lines[0] != dir || lines[1] != "/dev/null" || status != 7 {
		t.Fatalf("got %q, %q, %d", stdout, stderr, status)
	}
	// 10 is the shell's own copy of its script.
	if fds, sid, _ := strings.Cut(lines[2], "2 "); strings.TrimSuffix(fds, "10 ") != "0 1 " || sid != lines[3] {
		t.Errorf("descriptors and session: %q, pid %q", lines[2], lines[3])
	}
	if !strings.Contains(stderr, "/dev/tty") {
		t.Errorf("the terminal was reached: %q", stderr)
	}
}

func TestCopyOfAProjectScriptRuns(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "say"), []byte("#!/bin/sh\necho \"said $1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, status := output(t, start(t, dir, "./say", "it")); stdout != "said it\n" || status != 0 {
		t.Errorf("got %q, %q, %d", stdout, stderr, status)
	}
	// A binary, too.
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := output(t, start(t, dir, "./bin")); status != 0 {
		t.Errorf("binary: %q, %d", stderr, status)
	}
}

func TestKillReachesTheGroup(t *testing.T) {
	t.Parallel()
	run := start(t, workspace(t), "sh", "-c", `trap '' TERM; sleep 1000 & echo $!; wait; wait`)
	var line [32]byte
	n, err := run.Stdout.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	child, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	run.Kill()
	if run.Exit().Signal != unix.SIGKILL && run.Exit().Signal != unix.SIGTERM {
		t.Errorf("the leader ended by %v", run.Exit())
	}
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}, int((10 * time.Second).Milliseconds()))
	if err != nil || ready != 1 {
		t.Errorf("a child of the group lives: %v", err)
	}
}
