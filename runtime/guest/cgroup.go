package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The guest's cgroups. gVisor charges only the cgroup a task is in, never its
// parents, so one bound for all sessions needs one pids cgroup for all of them, and
// a session's membership lies in another hierarchy:
//
//	pids/lazaret           every session's processes; pids.max is the limit
//	pids/lazaret-ending    pids.max 0: where processes being killed cannot fork
//	cpuacct/lazaret-<id>   one session's processes
//	memory/lazaret-<id>    the same, for accounting
const (
	limitGroup  = "pids/lazaret"
	endingGroup = "pids/lazaret-ending"
)

func sessionGroups(id string) []string {
	return []string{"cpuacct/lazaret-" + id, "memory/lazaret-" + id}
}

// prepareCgroups makes the shared cgroups and reports whether the limit holds.
func (r roots) prepareCgroups(limit uint32) error {
	for _, group := range []string{limitGroup, endingGroup} {
		if err := os.Mkdir(filepath.Join(r.cgroup, group), 0o755); err != nil && !os.IsExist(err) {
			return fmt.Errorf("make guest cgroup %q: %w", group, err)
		}
	}
	if err := r.writeGroup(endingGroup, "pids.max", "0"); err != nil {
		return err
	}
	if limit == 0 {
		return r.writeGroup(limitGroup, "pids.max", "max")
	}
	return r.writeGroup(limitGroup, "pids.max", strconv.FormatUint(uint64(limit), 10))
}

// hasCgroups says whether the init could make the shared cgroups.
func (r roots) hasCgroups() bool {
	_, err := os.Stat(filepath.Join(r.cgroup, limitGroup))
	return err == nil
}

// enterSession moves the calling thread, and so what it forks, into the session's
// cgroups, and returns the way back. Only the thread moves: were the wrapper itself
// bounded by pids.max, a full cgroup would keep its Go runtime from making a thread,
// which is fatal. The caller has locked its thread.
func (r roots) enterSession(id string) (leave func(), err error) {
	var entered []string
	leave = func() {
		for _, group := range entered {
			// The hierarchy's own root always takes a task back.
			_ = r.writeGroup(strings.SplitN(group, "/", 2)[0], "tasks", "0")
		}
	}
	for _, group := range append(sessionGroups(id), limitGroup) {
		if group != limitGroup {
			if err := os.Mkdir(filepath.Join(r.cgroup, group), 0o755); err != nil && !os.IsExist(err) {
				leave()
				return nil, fmt.Errorf("make guest cgroup %q: %w", group, err)
			}
		}
		if err := r.writeGroup(group, "tasks", "0"); err != nil {
			leave()
			return nil, err
		}
		entered = append(entered, group)
	}
	return leave, nil
}

// members returns the processes in the session's cgroup, none where it has none.
func (r roots) members(id string) []int {
	b, err := os.ReadFile(filepath.Join(r.cgroup, sessionGroups(id)[0], "cgroup.procs"))
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

// stopForking moves a process to where it cannot fork. It is a help, not a need.
func (r roots) stopForking(pid int) {
	_ = r.writeGroup(endingGroup, "cgroup.procs", strconv.Itoa(pid))
}

// dropSession removes the session's empty cgroups.
func (r roots) dropSession(id string) {
	for _, group := range sessionGroups(id) {
		_ = os.Remove(filepath.Join(r.cgroup, group))
	}
}

// sessions returns the ids of the sessions that have a cgroup.
func (r roots) sessions() []string {
	const prefix = "lazaret-"
	entries, err := os.ReadDir(filepath.Join(r.cgroup, "cpuacct"))
	if err != nil {
		return nil
	}
	var ids []string
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Name(), prefix); ok && entry.IsDir() {
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
