//go:build sandbox

package supervisor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/gvisor"
	"lazaret.dev/lazaret/runtime/leader"
	"lazaret.dev/lazaret/runtime/supervisor"
	"lazaret.dev/lazaret/runtime/workspacefs/daemon"
)

func itoa(n int) string { return strconv.Itoa(n) }

// kin is one process of a generation, by a descriptor that stays true.
type kin struct {
	pid   int
	role  string
	pidfd int
}

// descendants lists every living process below pid with what it is.
func descendants(pid int) []kin {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		// The command, in parentheses, may hold anything.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], id)
	}
	var all []kin
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, id := range children[queue[0]] {
			queue = append(queue, id)
			fd, err := unix.PidfdOpen(id, 0)
			if err != nil {
				continue
			}
			all = append(all, kin{id, role(id), fd})
		}
	}
	return all
}

func role(pid int) string {
	b, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
	argv := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	switch {
	case slices.Contains(argv, supervisor.Mode):
		return "supervisor"
	case slices.Contains(argv, leader.Mode):
		return "leader"
	case slices.Contains(argv, daemon.Mode):
		return "workspace"
	case strings.HasSuffix(argv[0], "slirp4netns"):
		return "slirp"
	}
	return gvisor.Role(argv)
}

func find(tb testing.TB, family []kin, what string) kin {
	tb.Helper()
	for _, k := range family {
		if k.role == what {
			return k
		}
	}
	tb.Fatalf("no %s among %+v", what, family)
	return kin{}
}

func (k kin) gone() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(k.pidfd), Events: unix.POLLIN}}, 0)
	return err == nil && n == 1
}

func (k kin) kill(tb testing.TB) {
	tb.Helper()
	if err := unix.PidfdSendSignal(k.pidfd, unix.SIGKILL, nil, 0); err != nil {
		tb.Fatal(err)
	}
}

func awaitGone(tb testing.TB, family []kin) {
	tb.Helper()
	sandboxtest.Await(tb, 10*time.Second, "every process of the generation to end", func() bool {
		return !slices.ContainsFunc(family, func(k kin) bool { return !k.gone() })
	})
}

// Whatever is killed takes the rest along, and the sandbox says so.
func TestKillingAnyProcessEndsAll(t *testing.T) {
	for _, victim := range []string{"supervisor", "run", "sentry", "gofer", "workspace"} {
		t.Run(victim, func(t *testing.T) {
			s := start(t, newSpec(t))
			x := openTerminal(t, s, "sh", "-c", "echo ready; sleep 1000")
			x.expect(t, "ready")
			family := descendants(os.Getpid())
			find(t, family, victim).kill(t)
			await(t, s.Done(), "the sandbox's end")
			if s.Err() == nil {
				t.Error("no reason for the end")
			}
			await(t, x.process.Done(), "the session's end")
			if got := x.process.Exit(); got.Code == 0 {
				t.Errorf("the session ended well: %+v", got)
			}
			stop(t, s)
			awaitGone(t, family)
		})
	}
}

func TestKillingSlirpLeavesTheSandbox(t *testing.T) {
	s := start(t, newSpec(t))
	if status := s.Status(); !status.NetworkUp || status.NetworkReason != "" {
		t.Errorf("before: %+v", status)
	}
	find(t, descendants(os.Getpid()), "slirp").kill(t)
	sandboxtest.Await(t, 10*time.Second, "the network to be reported down", func() bool { return !s.Status().NetworkUp })
	if s.Status().NetworkReason == "" {
		t.Error("no reason")
	}
	if got := run(t, s, "echo", "alive"); got.stdout != "alive\n" {
		t.Errorf("%+v", got)
	}
}

func TestKillingATerminalsLeaderEndsItsSession(t *testing.T) {
	s := start(t, newSpec(t))
	x := openTerminal(t, s, "sh", "-c", "echo ready; exec sleep 1234")
	x.expect(t, "ready")
	find(t, descendants(os.Getpid()), "leader").kill(t)
	await(t, x.process.Done(), "the session's end")
	if got := x.process.Exit().Code; got != 137 {
		t.Errorf("status %d", got)
	}
	sandboxtest.Await(t, 10*time.Second, "the session's processes to end", func() bool {
		return sh(t, s, "ps -e -o args | grep -c '[s]leep 1234'").stdout == "0\n"
	})
}

const modeCoordinator = "__test-coordinator"

// actAsCoordinator launches the generation described on its standard input, says so,
// and waits to be killed. With an argument it says so as soon as RS has started.
func actAsCoordinator() int {
	var spec runtime.Spec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := supervisor.NewLauncher().Launch(context.Background(), spec, func(step string) { fmt.Println(step) })
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("launched")
	<-s.Done()
	return 0
}

// A killed coordinator takes everything along, wherever the launch has got to.
func TestKillingTheCoordinator(t *testing.T) {
	for _, when := range []string{"namespaces", "mounts", "network", "workspace", "sandbox", "guest", "launched"} {
		t.Run(when, func(t *testing.T) {
			spec := newRepository(t)
			before := listing(t, spec.Workspace)
			in, inW := pipe(t)
			out, outW := pipe(t)
			p, err := proc.Start(proc.Spec{Path: proc.Self(), Args: []string{"test", modeCoordinator},
				Env: os.Environ(), Files: []*os.File{in, outW, os.Stderr}})
			if err != nil {
				t.Fatal(err)
			}
			outW.Close()
			if err := json.NewEncoder(inW).Encode(spec); err != nil {
				t.Fatal(err)
			}
			x := &terminal{master: out, lines: bufio.NewReader(out)}
			x.expect(t, when)
			family := descendants(p.PID())
			if err := p.Signal(unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, family)
			<-p.Done()
			if entries, err := os.ReadDir(spec.Dir); err == nil {
				t.Errorf("the generation's directory is left: %v", entries)
			}
			mounts := string(must(os.ReadFile("/proc/self/mountinfo")))
			if strings.Contains(mounts, spec.Workspace) || strings.Contains(mounts, spec.Dir) {
				t.Error("mounts are left")
			}
			if after := listing(t, spec.Workspace); !slices.Equal(after, before) { // G18
				t.Errorf("the workspace became %q, was %q", after, before)
			}
			// The State Anchors are whole: the next generation starts on them.
			spec.Generation = domain.NewGeneration()
			s := start(t, spec)
			if got := run(t, s, "echo", "again"); got.stdout != "again\n" {
				t.Errorf("the next generation: %+v", got)
			}
		})
	}
}

func TestCancelledLaunchLeavesNothing(t *testing.T) {
	for _, when := range []string{"namespaces", "mounts", "workspace", "sandbox", "guest"} {
		t.Run(when, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			before := len(descendants(os.Getpid()))
			_, err := supervisor.NewLauncher().Launch(ctx, newSpec(t), func(step string) {
				if step == when {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if after := descendants(os.Getpid()); len(after) > before {
				t.Errorf("left: %+v", after)
			}
		})
	}
}

func TestStopAgain(t *testing.T) {
	s := start(t, newSpec(t))
	stop(t, s)
	stop(t, s)
	if s.Err() == nil {
		t.Error("no reason for the end")
	}
	await(t, s.Done(), "done after stop")
}

// The processes of a sandbox have no more of the host than they need.
func TestHostCredentials(t *testing.T) {
	s := start(t, newSpec(t))
	family := descendants(os.Getpid())
	rs := find(t, family, "supervisor")
	status := string(must(os.ReadFile("/proc/" + itoa(rs.pid) + "/status")))
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if !strings.HasPrefix(name, "Cap") {
			continue
		}
		if set := must(strconv.ParseUint(strings.TrimSpace(value), 16, 64)); set&(1<<unix.CAP_NET_ADMIN) != 0 {
			t.Errorf("the supervisor has network administration in %s", name)
		}
	}
	if got := s.Status().SandboxPID; got != find(t, family, "sentry").pid {
		t.Errorf("the status names process %d", got)
	}
	if os.Getuid() != 0 {
		return
	}
	for _, what := range []string{"supervisor", "run", "sentry", "gofer", "slirp", "workspace"} {
		k := find(t, family, what)
		info, err := os.Stat("/proc/" + itoa(k.pid) + "/ns")
		if err != nil {
			t.Fatal(err)
		}
		_ = info
		for line := range strings.Lines(string(must(os.ReadFile("/proc/" + itoa(k.pid) + "/status")))) {
			if fields := strings.Fields(line); fields[0] == "Uid:" && slices.Contains(fields[1:], "0") {
				t.Errorf("%s is root on the host: %s", what, line)
			}
		}
	}
}
