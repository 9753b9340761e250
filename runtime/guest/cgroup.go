package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The guest's cgroups, one set for each session:
//
//	pids/lazaret-<id>      its processes; pids.max is the limit, and 0 while it ends
//	cpuacct/lazaret-<id>   the same, for accounting
//	memory/lazaret-<id>    the same, for accounting
//	devices/lazaret-<id>   the session's wrapper alone: found by one read, where a
//	                       search of /proc takes seconds beside a fork bomb
//
// gVisor charges only the cgroup a task is in, never its parents, so there can be no
// bound over all sessions; each has its own, and a fork bomb in one leaves the
// others room.
const groupPrefix = "lazaret-"

func pidsGroup(id string) string { return "pids/" + groupPrefix + id }

func sessionGroups(id string) []string {
	return []string{pidsGroup(id), "cpuacct/" + groupPrefix + id, "memory/" + groupPrefix + id}
}

func wrapperGroup(id string) string { return "devices/" + groupPrefix + id }

// hasCgroups says whether this guest has them.
func (r roots) hasCgroups() bool {
	_, err := os.Stat(filepath.Join(r.cgroup, "pids", "cgroup.procs"))
	return err == nil
}

// markWrapper moves the calling process, the session's wrapper, into its cgroup.
func (r roots) markWrapper(id string) error {
	if err := r.makeGroup(wrapperGroup(id)); err != nil {
		return err
	}
	return r.writeGroup(wrapperGroup(id), "cgroup.procs", "0")
}

// enterSession moves the calling thread, and so what it forks, into the session's
// cgroups, and returns the way back. Only the thread moves: were the wrapper itself
// bounded by pids.max, a full cgroup would keep its Go runtime from making a thread,
// which is fatal. The caller has locked its thread.
func (r roots) enterSession(id string, limit uint32) (leave func(), err error) {
	leave = func() {
		// The hierarchy's own root always takes a task back.
		for _, group := range []string{"pids", "cpuacct", "memory", wrapperGroup(id)} {
			_ = r.writeGroup(group, "tasks", "0")
		}
	}
	for _, group := range sessionGroups(id) {
		if err := r.makeGroup(group); err != nil {
			return nil, err
		}
	}
	if limit != 0 {
		if err := r.limitForks(id, limit); err != nil {
			return nil, err
		}
	}
	for _, group := range append(sessionGroups(id), "devices") {
		if err := r.writeGroup(group, "tasks", "0"); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// limitForks bounds the session's tasks, threads included; 0 keeps it from making any.
func (r roots) limitForks(id string, limit uint32) error {
	return r.writeGroup(pidsGroup(id), "pids.max", strconv.FormatUint(uint64(limit), 10))
}

func (r roots) makeGroup(group string) error {
	if err := os.Mkdir(filepath.Join(r.cgroup, group), 0o755); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make guest cgroup %q: %w", group, err)
	}
	return nil
}

// members returns the processes in one cgroup, none where it does not exist.
func (r roots) members(group string) []int {
	b, err := os.ReadFile(filepath.Join(r.cgroup, group, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// dropSession removes the session's empty cgroups. The wrapper calls it last, and
// leaves its own first.
func (r roots) dropSession(id string) {
	if slices.Contains(r.members(wrapperGroup(id)), os.Getpid()) {
		_ = r.writeGroup("devices", "cgroup.procs", "0")
	}
	for _, group := range append(sessionGroups(id), wrapperGroup(id)) {
		_ = os.Remove(filepath.Join(r.cgroup, group))
	}
}

// sessions returns the ids of the sessions that have a cgroup.
func (r roots) sessions() []string {
	entries, err := os.ReadDir(filepath.Join(r.cgroup, "pids"))
	if err != nil {
		return nil
	}
	var ids []string
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Name(), groupPrefix); ok && entry.IsDir() {
			ids = append(ids, id)
		}
	}
	return ids
}

// reading returns a number of a cgroup, 0 where there is none.
func (r roots) reading(group, file string) uint64 {
	b, err := os.ReadFile(filepath.Join(r.cgroup, group, file))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// writeGroup writes one control file. It never creates one: outside a cgroup tree
// that would leave a plain file behind.
func (r roots) writeGroup(group, file, value string) error {
	f, err := os.OpenFile(filepath.Join(r.cgroup, group, file), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open guest cgroup: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(value); err != nil {
		return fmt.Errorf("write guest cgroup %q: %w", group, err)
	}
	return nil
}
