package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/gvisor"
	"lazaret.dev/lazaret/runtime/leader"
	"lazaret.dev/lazaret/runtime/workspacefs/daemon"
)

// idleTime is what a Domain gets to become idle.
const idleTime = 3 * time.Second

// memory is the proportional set size of all host processes of an idle Domain. What
// a terminal session adds, its leader, is told apart.
func memory(ctx context.Context, w *world) ([]Figure, error) {
	s, err := w.open(ctx, "sleep", "infinity")
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = s.Close()
		_ = w.awaitStopped(ctx, "shell", w.workspace)
	}()
	pause(ctx, idleTime)
	processes, err := w.processes(ctx, "shell", w.workspace)
	if err != nil {
		return nil, err
	}
	f := Figure{Name: "idle Domain, memory", Unit: "MB", Max: atMost(80), Parts: map[string]float64{}}
	total, unread := 0.0, 0
	var counted []int
	for _, p := range processes {
		if slices.ContainsFunc(counted, func(other int) bool { return sameMemory(other, p.id) }) {
			continue // a stub's threads are processes that share one memory
		}
		counted = append(counted, p.id)
		size, err := pss(p.id)
		if err != nil {
			unread++
			continue
		}
		f.Parts[p.role] += size
		if p.role != roleLeader {
			total += size
		}
	}
	f.Ours = sample([]float64{total})
	f.Note = "proportional set size; the leader of a terminal session is not in the sum"
	if unread > 0 {
		f.Note += fmt.Sprintf("; %d processes could not be read", unread)
	}
	return []Figure{f}, nil
}

const (
	roleLeader    = "leader"
	roleWorkspace = "workspace" // the daemon of the workspace file system
)

// processes are those of a Domain that is up.
func (w *world) processes(ctx context.Context, profile, workspace string) ([]process, error) {
	conn, err := spawn.Dial(ctx, w.domainRoot(profile, workspace))
	if err != nil {
		return nil, err
	}
	id, _ := domain.Identify(profile, workspace)
	status, err := client.Query(ctx, conn, wire.Hello{Domain: id, Client: domain.NewClientID()})
	if err != nil {
		return nil, err
	}
	return tree(status.CoordinatorID), nil
}

// process is one of a Domain.
type process struct {
	id   int
	role string
}

// tree lists a coordinator and its descendants.
func tree(coordinator int) []process {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc") // without it there is nothing to measure anyway
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if stat, err := statFields(id); err == nil {
			if parent, err := strconv.Atoi(stat[1]); err == nil {
				children[parent] = append(children[parent], id)
			}
		}
	}
	var list []process
	var visit func(id int, above string)
	visit = func(id int, above string) {
		p := process{id, role(id, above)}
		list = append(list, p)
		for _, child := range children[id] {
			visit(child, p.role)
		}
	}
	visit(coordinator, "")
	return list
}

func role(id int, above string) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id)) // gone: not of interest
	argv := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
	switch {
	case above == "":
		return "coordinator"
	case above == "sentry" || above == "stubs":
		return "stubs"
	case len(argv) > 1 && argv[1] == leader.Mode:
		return roleLeader
	case len(argv) > 1 && argv[1] == daemon.Mode:
		return roleWorkspace
	case len(argv) > 1 && argv[0] == "lazaret":
		return "supervisor"
	case strings.Contains(argv[0], "slirp4netns"):
		return "slirp4netns"
	}
	switch gvisor.Role(argv) {
	case "sentry":
		return "sentry"
	case "gofer":
		return "gofer"
	case "run":
		return "run-client"
	}
	return "other"
}

// statFields are the fields of /proc/id/stat from the state on.
func statFields(id int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return nil, err
	}
	end := strings.LastIndexByte(string(data), ')')
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 {
		return nil, errors.New("the kernel's stat is too short")
	}
	return fields, nil
}

// pss is a process's proportional set size in MB.
func pss(id int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" {
			kb, err := strconv.ParseFloat(fields[1], 64)
			return kb / 1000 * 1.024, err
		}
	}
	return 0, errors.New("the kernel tells no proportional set size")
}

// sameMemory says whether two processes have one address space between them, of
// which each tells the whole size. Not knowing counts as no.
func sameMemory(a, b int) bool {
	const kcmpVM = 1
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return errno == 0 && order == 0
}

// clockTick is the unit of processor times in /proc; it is 100 a second on every
// Linux Go runs on.
const clockTick = 10 * time.Millisecond

// processorTime is what a process has used so far.
func processorTime(id int) (time.Duration, error) {
	fields, err := statFields(id)
	if err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", id, err)
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick, errors.Join(err1, err2)
}

// pause lets time pass for what is measured over time.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
