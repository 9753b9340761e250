package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/sandboxtest"
)

// Adopt makes this process the parent of every orphan below it. A coordinator
// leaves its client's process tree; this keeps it in the test's. Call it once, in
// TestMain.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Kin is one process a Home started, directly or not, by a descriptor that stays
// true when its number is used again.
type Kin struct {
	PID   int
	Role  string // client, coordinator, supervisor, workspace, run, exec, sentry, gofer, slirp, or a program's name
	pidfd int
}

// Family lists the living processes of the Home: its clients and its coordinators,
// which have its HOME in their environment, with everything below them.
func (h *Home) Family() []Kin {
	var all []Kin
	children := processTree()
	var queue []int
	for _, pid := range children[os.Getpid()] {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(append([]byte{0}, environ...), []byte("\x00HOME="+h.home("")+"\x00")) {
			queue = append(queue, pid)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		queue = append(queue, children[queue[0]]...)
		role := roleOf(queue[0])
		if fd, err := unix.PidfdOpen(queue[0], 0); err == nil {
			all = append(all, Kin{queue[0], role, fd})
		}
	}
	return all
}

// processTree maps each process to its living children.
func processTree() map[int][]int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// The command, in parentheses, may hold anything (proc_pid_stat(5)).
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || fields[0][0] == 'Z' {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

func roleOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	argv := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	mode := ""
	if len(argv) > 1 {
		mode = argv[1]
	}
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	switch {
	case mode == "__hc":
		return "coordinator"
	case mode == "__rs" || mode == "__userns" && slices.Contains(argv, "__rs"):
		return "supervisor"
	case mode == "__workspacefs":
		return "workspace"
	case name == "slirp4netns":
		return "slirp"
	case name == "runsc-sandbox":
		return "sentry"
	case name == "runsc-gofer":
		return "gofer"
	case name == "runsc" && slices.Contains(argv, "run"):
		return "run"
	case mode == "--terminal-signals":
		return "leader"
	case name == "lazaret" && !strings.HasPrefix(mode, "__"):
		return "client"
	}
	return name
}

// Find returns the process of the Home in that role, which must be there.
func (h *Home) Find(role string) Kin {
	h.tb.Helper()
	family := h.Family()
	for _, k := range family {
		if k.Role == role {
			return k
		}
	}
	h.tb.Fatalf("no %s among %+v", role, family)
	return Kin{}
}

// Kill ends the process, if it still lives.
func (k Kin) Kill(tb testing.TB) { k.Signal(tb, unix.SIGKILL) }

// Signal sends the process a signal, if it still lives.
func (k Kin) Signal(tb testing.TB, s unix.Signal) {
	tb.Helper()
	if err := unix.PidfdSendSignal(k.pidfd, s, nil, 0); err != nil && err != unix.ESRCH {
		tb.Fatal(err)
	}
}

// Gone says whether the process has ended.
func (k Kin) Gone() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(k.pidfd), Events: unix.POLLIN}}, 0)
	return err == nil && n == 1
}

// AwaitGone waits until all of the processes have ended.
func AwaitGone(tb testing.TB, family []Kin) {
	tb.Helper()
	var left []Kin
	for late := time.Now().Add(Patience); ; {
		left = slices.DeleteFunc(slices.Clone(family), Kin.Gone)
		if len(left) == 0 {
			break
		}
		if time.Now().After(late) {
			tb.Fatalf("processes are left: %+v", left)
		}
		unix.Poll([]unix.PollFd{{Fd: int32(left[0].pidfd), Events: unix.POLLIN}}, 100)
	}
	for _, k := range family {
		unix.Close(k.pidfd)
		if k.Role == "coordinator" { // it became our child when its client ended
			unix.Wait4(k.PID, nil, unix.WNOHANG, nil)
		}
	}
}

// AwaitStopped waits until nothing of the Home runs, and fails the test with what
// is left of it: processes, sockets, generation directories, mounts, locks.
func (h *Home) AwaitStopped() {
	h.tb.Helper()
	var left []string
	for late := time.Now().Add(Patience / 2); ; {
		if left = h.left(); len(left) == 0 {
			return
		}
		if time.Now().After(late) {
			h.tb.Errorf("left behind:\n%s\n%s", strings.Join(left, "\n"), h.logs())
			return
		}
		unix.Poll(nil, 20)
	}
}

func (h *Home) left() []string {
	var left []string
	for _, k := range h.Family() {
		left = append(left, fmt.Sprintf("process %d (%s)", k.PID, k.Role))
		unix.Close(k.pidfd)
	}
	return append(left, h.leftFiles()...)
}

// cleanUp checks that nothing is left, and removes the Home's Domains.
func (h *Home) cleanUp() {
	h.AwaitStopped()
	for _, k := range h.Family() { // only after a failure
		k.Kill(h.tb)
	}
	for _, root := range h.domains() {
		removeTree(h.tb, root)
	}
}

// Await is sandboxtest.Await with this package's patience.
func Await(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	sandboxtest.Await(tb, Patience, what, ok)
}
